//! The house rules that the compiler does not know, held over the whole tree. Each rule is a
//! function of a path and a text, and has a small bad example, so that it can fail.

use std::path::{Path, PathBuf};

/// The most lines of a source file.
const MAX_LINES: usize = 400;

/// What the deciding crate may build on: none of it can reach the world.
const PURE: [&str; 7] = ["proptest", "regex", "serde", "serde_json", "sha2", "thiserror", "uuid"];

/// What reaches the world, as it would stand in a source of the deciding crate.
const WORLDLY: [&str; 12] = [
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "println!",
    "dbg!",
    "async ",
    ".await",
];

/// Files that others write.
const NOT_OURS: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// A file of the tree: its path from the root with `/`, and its text.
struct File {
    path: String,
    text: String,
}

/// What a rule has against a file, one line for each fault.
type Rule = fn(&File) -> Vec<String>;

const RULES: [Rule; 10] = [
    the_deciding_crate_reaches_for_nothing,
    at_most_400_lines,
    begins_with_a_module_doc,
    no_unwrap_outside_of_tests,
    no_mod_rs,
    no_to_do_markers,
    no_ignored_tests,
    no_foreign_words,
    the_deciding_crate_stays_pure,
    a_decision_has_a_title_and_a_reason,
];

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = read_tree(root);
    assert!(files.iter().any(|file| file.path == "actors/src/lib.rs"), "the tree was not found");
    let fault = |rule: &Rule, file: &File| -> Vec<String> {
        rule(file).iter().map(|fault| format!("{}: {fault}", file.path)).collect()
    };
    let faults: Vec<String> =
        files.iter().flat_map(|file| RULES.iter().flat_map(|rule| fault(rule, file))).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

// The tree.

/// Every text file, but build output, data and what begins with a dot (`.github` excepted).
fn read_tree(root: &Path) -> Vec<File> {
    let mut files = vec![];
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap();
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && name != ".github";
            if hidden || ["target", "node_modules", "proptest-regressions"].contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.push(File { path: relative(root, &path), text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn relative(root: &Path, path: &Path) -> String {
    let parts: PathBuf = path.strip_prefix(root).unwrap().to_owned();
    parts.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_library_source(&self) -> bool {
        self.is_rust() && (self.path.starts_with("src/") || self.path.starts_with("actors/src/"))
    }

    /// Files that hold only tests.
    fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| ["tests", "tests.rs", "benches", "examples"].contains(&part))
    }

    /// Lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

// The rules.

fn at_most_400_lines(file: &File) -> Vec<String> {
    let lines = file.text.lines().count();
    if !file.is_rust() || lines <= MAX_LINES {
        return vec![];
    }
    vec![format!(
        "{lines} lines, at most {MAX_LINES}; split it by idea, or move its tests beside it"
    )]
}

fn begins_with_a_module_doc(file: &File) -> Vec<String> {
    if !file.is_library_source() || file.text.starts_with("//!") {
        return vec![];
    }
    vec!["it does not begin with `//!`; say what the module is".to_owned()]
}

fn no_unwrap_outside_of_tests(file: &File) -> Vec<String> {
    if !file.is_library_source() || file.is_test() {
        return vec![];
    }
    let code = without_test_modules(&file.text);
    let calls = |line: &str| [".unwrap()", ".expect("].iter().any(|call| line.contains(call));
    let found = (1..).zip(code.lines()).filter(|(_, line)| !is_comment(line) && calls(line));
    found.map(|(n, line)| format!("line {n}: `{}` can panic", line.trim())).collect()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The text with each `#[cfg(test)] mod … { … }` blanked, line by line. The closing brace is the
/// next one at the indentation of the `mod`, as rustfmt writes it.
fn without_test_modules(text: &str) -> String {
    let mut code = String::new();
    let (mut marked, mut closing) = (false, None::<String>);
    for line in text.lines() {
        let trimmed = line.trim_start();
        let indent = &line[..line.len() - trimmed.len()];
        if let Some(end) = &closing {
            if line == end {
                closing = None;
            }
        } else if trimmed.starts_with("#[cfg(test)]") {
            marked = true;
        } else if marked && trimmed.contains("mod ") && trimmed.ends_with('{') {
            (marked, closing) = (false, Some(format!("{indent}}}")));
        } else {
            marked = marked && trimmed.starts_with("#[");
            code.push_str(line);
        }
        code.push('\n');
    }
    code
}

fn no_mod_rs(file: &File) -> Vec<String> {
    if file.path.ends_with("mod.rs") && file.path.split('/').next_back() == Some("mod.rs") {
        return vec!["use `foo.rs` beside `foo/`".to_owned()];
    }
    vec![]
}

fn no_to_do_markers(file: &File) -> Vec<String> {
    if !file.is_rust() {
        return vec![];
    }
    // Put together, so that this file does not hold them.
    let markers = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["todo", "!("]].map(|m| m.concat());
    let found = file.lines().filter(|(_, line)| markers.iter().any(|marker| line.contains(marker)));
    found.map(|(n, _)| format!("line {n}: file an issue instead of leaving a note")).collect()
}

fn no_ignored_tests(file: &File) -> Vec<String> {
    if !file.is_rust() {
        return vec![];
    }
    let ignore = ["#[ig", "nore"].concat();
    let found = file.lines().filter(|(_, line)| line.trim_start().starts_with(&ignore));
    found.map(|(n, _)| format!("line {n}: a test that does not run proves nothing")).collect()
}

fn no_foreign_words(file: &File) -> Vec<String> {
    if NOT_OURS.iter().any(|name| file.path.ends_with(name)) {
        return vec![];
    }
    let found = file.lines().filter_map(|(n, line)| Some((n, foreign_word(line)?)));
    found.map(|(n, word)| format!("line {n}: `{word}` belongs to one machine")).collect()
}

/// An absolute path or a host of the machine on which the code happened to be written.
fn foreign_word(line: &str) -> Option<String> {
    let paths = [["/wo", "rk/"], ["/ro", "ot/"], ["../sha", "red"]];
    let hosts =
        [["static.", "crates"], ["registry.", "npmjs"], ["pypi.", "org"], ["deb.", "debian"]];
    let path = paths.iter().map(|word| word.concat()).find(|word| {
        // A path begins there: nothing that could be a part of its name stands before it.
        let begins = |at: usize| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "._-/}".contains(c))
        };
        line.match_indices(word.as_str()).any(|(at, _)| begins(at))
    });
    path.or_else(|| hosts.iter().map(|word| word.concat()).find(|word| line.contains(word)))
}

fn the_deciding_crate_stays_pure(file: &File) -> Vec<String> {
    if file.path != "actors/Cargo.toml" {
        return vec![];
    }
    let manifest: toml::Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![format!("it is not TOML: {error}")],
    };
    let tables = ["dependencies", "build-dependencies", "dev-dependencies"];
    let named = tables.iter().filter_map(|table| manifest.get(*table)?.as_table());
    let effectful = |(name, spec): (&String, &toml::Value)| {
        let renamed = spec.get("package").and_then(toml::Value::as_str);
        let package = renamed.unwrap_or(name);
        let pure = PURE.contains(&package);
        (!pure).then(|| format!("it depends on `{package}`, which is not known to be pure"))
    };
    let targets =
        manifest.get("target").map(|_| "dependencies by target are not allowed".to_owned());
    named.flatten().filter_map(effectful).chain(targets).collect()
}

fn the_deciding_crate_reaches_for_nothing(file: &File) -> Vec<String> {
    if !file.path.starts_with("actors/src/") {
        return vec![];
    }
    let code = file.lines().filter(|(_, line)| !is_comment(line));
    let reaches = |(n, line): (usize, &str)| {
        let word = WORLDLY.iter().find(|word| line.contains(**word))?;
        Some(format!("line {n} has `{word}`, which reaches for the world"))
    };
    code.filter_map(reaches).collect()
}

fn a_decision_has_a_title_and_a_reason(file: &File) -> Vec<String> {
    if !file.path.starts_with("docs/adr/") || !file.path.ends_with(".md") {
        return vec![];
    }
    let mut faults = vec![];
    if !file.text.starts_with("# ") {
        faults.push("it does not begin with a title (`# …`)".to_owned());
    }
    let words = ["because", "reason", "why", "context"];
    let text = file.text.to_lowercase();
    if !words.iter().any(|word| text.contains(word)) {
        faults
            .push("it gives no reason (a section `## Why`, `## Context` or a because)".to_owned());
    }
    faults
}

// Each rule finds its fault, and lets what is right pass.

#[track_caller]
fn check(rule: Rule, path: &str, bad: &str, good: &str) {
    let file = |text: &str| File { path: path.to_owned(), text: text.to_owned() };
    assert_eq!(rule(&file(bad)).len(), 1, "the bad example of {path}");
    assert_eq!(rule(&file(good)), Vec::<String>::new(), "the good example of {path}");
}

#[test]
fn long_files_are_found() {
    check(at_most_400_lines, "tests/a.rs", &"x\n".repeat(401), &"x\n".repeat(400));
    check(at_most_400_lines, "actors/src/a.rs", &"x\n".repeat(401), "x");
}

#[test]
fn modules_without_a_doc_are_found() {
    check(begins_with_a_module_doc, "src/a.rs", "use std::fmt;", "//! What it is.\n");
    check(begins_with_a_module_doc, "actors/src/a/b.rs", "// x\n//! y\n", "//! What it is.\n");
}

#[test]
fn unwraps_are_found_and_those_of_tests_are_not() {
    let tested =
        "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {\n        c().unwrap();\n    }\n}\n";
    let rule = no_unwrap_outside_of_tests;
    check(rule, "src/a.rs", &format!("{tested}fn d() {{ c().unwrap() }}\n"), tested);
    check(rule, "src/a.rs", "x.expect(\"y\")", "// x.unwrap()\nx.unwrap_or_default()");
    check(rule, "src/a.rs", "#[cfg(test)]\nmod tests;\nx.unwrap()", "#[cfg(test)]\nmod tests;\n");
    let attributes = "#[cfg(test)]\n#[allow(x)]\npub(crate) mod tests {\n    x.unwrap()\n}\n";
    check(rule, "src/a.rs", "#[cfg(test)]\nuse x;\ny.unwrap()", attributes);
    assert!(rule(&File { path: "src/a/tests.rs".into(), text: "x.unwrap()".into() }).is_empty());
    assert!(rule(&File { path: "tests/a.rs".into(), text: "x.unwrap()".into() }).is_empty());
}

#[test]
fn the_line_of_an_unwrap_is_the_line_of_the_file() {
    let text = "#[cfg(test)]\nmod tests {\n    x\n}\ny.unwrap()\n";
    let faults = no_unwrap_outside_of_tests(&File { path: "src/a.rs".into(), text: text.into() });
    assert_eq!(faults, ["line 5: `y.unwrap()` can panic"]);
}

#[test]
fn mod_rs_is_found() {
    let faults = |path: &str| no_mod_rs(&File { path: path.into(), text: String::new() }).len();
    assert_eq!((faults("src/a/mod.rs"), faults("src/a.rs"), faults("src/old_mod.rs")), (1, 0, 0));
}

#[test]
fn notes_and_ignored_tests_are_found() {
    let note = ["// TO", "DO: later"].concat();
    check(no_to_do_markers, "src/a.rs", &note, "// Later there is more to do.");
    let ignored = ["#[ig", "nore = \"slow\"]"].concat();
    check(no_ignored_tests, "tests/a.rs", &ignored, "// It is not ignored.");
}

#[test]
fn paths_and_hosts_of_one_machine_are_found() {
    let foreign = |word: [&str; 2]| format!("see `{}` there", word.concat());
    check(no_foreign_words, "README.md", &foreign(["/wo", "rk/x"]), "see `target/wor");
    check(
        no_foreign_words,
        "a.toml",
        &foreign(["https://static.", "crates.x"]),
        "see `src/lib.rs`",
    );
    check(
        no_foreign_words,
        "docs/a.md",
        &foreign(["../sha", "red/x"]),
        &["net", "wo", "rk/x"].concat(),
    );
    let lock = File { path: "Cargo.lock".into(), text: foreign(["/wo", "rk/x"]) };
    assert!(no_foreign_words(&lock).is_empty());
}

#[test]
fn a_clock_or_io_in_the_deciding_crate_is_found() {
    let rule = the_deciding_crate_reaches_for_nothing;
    let good = "// Instant::now is the shell's.\nuse std::sync::Arc;\n";
    for bad in ["let now = Instant::now();", "use std::fs;", "async fn f() {}", "x.await"] {
        check(rule, "actors/src/a.rs", bad, good);
    }
    assert!(rule(&File { path: "src/a.rs".into(), text: "x.await".into() }).is_empty());
}

#[test]
fn effects_in_the_deciding_crate_are_found() {
    let rule = the_deciding_crate_stays_pure;
    let good = "[dependencies]\nserde = \"1\"\n";
    for bad in [
        "[dependencies]\ntokio = \"1\"\n",
        "[dev-dependencies]\nrand.workspace = true\n",
        "[dependencies]\nx = { package = \"sled\", version = \"0\" }\n",
        "[dependencies]\nkinfolk = { path = \"..\" }\n",
        "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n",
        "not toml",
    ] {
        check(rule, "actors/Cargo.toml", bad, good);
    }
}

#[test]
fn decisions_without_a_title_or_a_reason_are_found() {
    let rule = a_decision_has_a_title_and_a_reason;
    check(rule, "docs/adr/1.md", "We use sled, because it is small.", "# Sled\n\n## Why\n\nSmall.");
    check(
        rule,
        "docs/adr/1.md",
        "# Sled\n\nWe use it.",
        "# Sled\n\nWe use it because it is small.",
    );
}
