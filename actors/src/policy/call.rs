//! A call as the rules look at it: its arguments as texts, its shell line split once.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::shell::{Line, SplitError, split, split_argv};

/// The argument that is a shell line (or a program with its arguments, as a list).
pub const COMMAND: &str = "command";

/// The arguments that name files, beside every name that ends in `path`.
const PATHS: [&str; 12] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "uri",
    "source",
    "destination",
    "from",
    "to",
    "cwd",
    "directory",
];

/// One call under examination.
pub struct Examined<'c> {
    /// The tool's name.
    pub tool: &'c str,
    /// What it is called with.
    pub arguments: &'c Map<String, Value>,
    /// The commands of its shell line; `None` if it has none.
    pub line: Option<Result<Line, SplitError>>,
}

impl<'c> Examined<'c> {
    /// Splits the shell line, if the call has one.
    #[must_use]
    pub fn new(tool: &'c str, arguments: &'c Map<String, Value>) -> Self {
        let line = arguments.get(COMMAND).and_then(read_line);
        Self { tool, arguments, line }
    }

    /// The commands, if there is a line and it could be split.
    #[must_use]
    pub fn commands(&self) -> Option<&Line> {
        self.line.as_ref()?.as_ref().ok()
    }

    /// The texts of an argument: of a list one for each part. None if it is missing.
    #[must_use]
    pub fn texts(&self, parameter: &str) -> Vec<Cow<'c, str>> {
        let arguments: &'c Map<String, Value> = self.arguments;
        match arguments.get(parameter) {
            None => vec![],
            Some(Value::Array(parts)) => parts.iter().map(text).collect(),
            Some(value) => vec![text(value)],
        }
    }

    /// The texts of the arguments that name files.
    pub fn paths(&self) -> impl Iterator<Item = Cow<'c, str>> + '_ {
        let named = self.arguments.keys().filter(|name| is_path(name));
        named.flat_map(|name| self.texts(name))
    }

    /// The shell line as it was written, also if it could not be split.
    #[must_use]
    pub fn raw_line(&self) -> Option<Cow<'c, str>> {
        let texts = self.texts(COMMAND);
        if texts.len() <= 1 {
            return texts.into_iter().next();
        }
        Some(Cow::Owned(texts.join(" ")))
    }
}

fn is_path(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    PATHS.contains(&lower.as_str()) || lower.ends_with("path") || lower.ends_with("paths")
}

fn read_line(value: &Value) -> Option<Result<Line, SplitError>> {
    match value {
        Value::String(line) => Some(split(line)),
        Value::Array(words) => {
            let argv: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(split_argv(&argv))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(json: &str) -> Map<String, Value> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn arguments_are_read_as_texts() {
        let call = arguments(r#"{"a":"x","b":["y",1],"c":true,"d":{"e":null}}"#);
        let call = Examined::new("t", &call);
        let texts = |name| call.texts(name);
        assert_eq!(texts("a"), ["x"]);
        assert_eq!(texts("b"), ["y", "1"]);
        assert_eq!(texts("c"), ["true"]);
        assert_eq!(texts("d"), [r#"{"e":null}"#]);
        assert!(texts("e").is_empty());
    }

    #[test]
    fn arguments_that_name_files_are_found() {
        let call =
            arguments(r#"{"path":"a","paths":["b","c"],"filePath":"d","old_path":"e","text":"f"}"#);
        let mut paths: Vec<String> =
            Examined::new("t", &call).paths().map(Cow::into_owned).collect();
        paths.sort();
        assert_eq!(paths, ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn a_line_is_a_text_or_a_list_of_words() {
        let count = |json: &str| -> Option<usize> {
            Examined::new("t", &arguments(json)).commands().map(|line| line.commands.len())
        };
        assert_eq!(count(r#"{"command":"a; b"}"#), Some(2));
        assert_eq!(count(r#"{"command":["a", ";", "b"]}"#), Some(1));
        assert_eq!(count(r#"{"command":"a '"}"#), None);
        assert_eq!(count(r#"{"command":1}"#), None);
        let call = arguments(r#"{"command":["a","b"]}"#);
        assert_eq!(Examined::new("t", &call).raw_line().as_deref(), Some("a b"));
    }
}
