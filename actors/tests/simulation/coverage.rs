//! What the stories have reached: a law over what never happens holds for nothing.

use std::collections::BTreeMap;
use std::sync::Mutex;

static REACHED: Mutex<BTreeMap<(&'static str, String), u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    static NOTED: std::cell::RefCell<BTreeMap<(&'static str, String), u64>> =
        const { std::cell::RefCell::new(BTreeMap::new()) };
}

/// Notes that something was reached.
pub fn note(kind: &'static str, what: &str) {
    NOTED.with_borrow_mut(|noted| match noted.get_mut(&(kind, what.to_owned())) {
        Some(times) => *times += 1,
        None => {
            noted.insert((kind, what.to_owned()), 1);
        }
    });
}

/// Hands over what this thread has noted.
pub fn hand_over() {
    let noted = NOTED.with_borrow_mut(std::mem::take);
    let mut reached = REACHED.lock().unwrap();
    for (what, times) in noted {
        *reached.entry(what).or_default() += times;
    }
}

/// How often something was reached, by all threads that have handed over.
pub fn reached(kind: &'static str, what: &str) -> u64 {
    REACHED.lock().unwrap().get(&(kind, what.to_owned())).copied().unwrap_or_default()
}

/// The name of a variant.
pub fn name(value: &impl std::fmt::Debug) -> String {
    // Only the first word is wanted; writing all of it would take most of the time.
    struct First(String);
    impl std::fmt::Write for First {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            match text.find(|c: char| !c.is_ascii_alphanumeric()) {
                None => self.0.push_str(text),
                Some(end) => {
                    self.0.push_str(&text[..end]);
                    return Err(std::fmt::Error);
                }
            }
            Ok(())
        }
    }
    let mut first = First(String::new());
    std::fmt::write(&mut first, format_args!("{value:?}")).ok();
    first.0
}

/// All that was reached, as a table.
pub fn table() -> String {
    let reached = REACHED.lock().unwrap();
    reached.iter().map(|((kind, what), times)| format!("{kind} {what}: {times}\n")).collect()
}

/// The names of an enum's variants, all of them: one that is missing here does not compile. What no
/// story can reach stands behind `except`.
macro_rules! variants {
    ($type:ident { $($name:ident),+ $(,)? } $(except { $($never:ident),+ $(,)? })?) => {{
        const _: fn(&$type) = |value| match value {
            $($type::$name { .. } => {})+
            $($($type::$never { .. } => {})+)?
        };
        &[$(stringify!($name)),+] as &[&str]
    }};
}
pub(crate) use variants;

/// A variant's name as words of the public events are written: `ToolCalls` is `tool_calls`.
pub fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
