//! The workspace tools see what is in the workspace, in order and within bounds, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use kinfolk::ports::tool::ToolOutput;
use kinfolk::tools::toolbox::{Dispatch, Toolbox};
use kinfolk::tools::workspace::{Workspace, WorkspaceError};
use kinfolk_actors::call::{CallResult, CallStatus, EffectClass};
use kinfolk_actors::id::{AgentId, CallId, RunId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const OUTSIDE: &str = "is outside of the workspace: use a path relative to the workspace's root";
const MISSING: &str = "does not exist in the workspace: see workspace_tree for what does";

/// A workspace `root` beside things that no tool may see.
struct Place {
    all: TempDir,
    toolbox: Toolbox,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::hiding(files, None)
    }

    fn hiding(files: &[(&str, &str)], hidden: Option<&str>) -> Self {
        let all = TempDir::new().unwrap();
        let root = all.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::create_dir(all.path().join("root-2")).unwrap();
        fs::write(all.path().join("secret.txt"), "secret\n").unwrap();
        fs::write(all.path().join("root-2/secret.txt"), "secret\n").unwrap();
        for (path, text) in files {
            write(&root, path, text);
        }
        let mut workspace = Workspace::open(&root).unwrap();
        if let Some(hidden) = hidden {
            workspace = workspace.hide(root.join(hidden)).unwrap();
        }
        let toolbox = Toolbox::new(Arc::new(workspace).tools()).unwrap();
        Self { all, toolbox }
    }

    fn root(&self) -> std::path::PathBuf {
        self.all.path().join("root")
    }

    async fn call(&self, name: &str, arguments: &Value, token: &CancellationToken) -> ToolOutput {
        let dispatch = Dispatch {
            name,
            call: CallId { run: RunId(uuid::Uuid::nil()), agent: AgentId::LEAD, n: 0 },
            arguments: &arguments.to_string(),
            workspace: None,
            cancelled: token.clone(),
        };
        self.toolbox.run(dispatch).await.output().unwrap()
    }

    async fn run(&self, name: &str, arguments: Value) -> ToolOutput {
        self.call(name, &arguments, &CancellationToken::new()).await
    }

    /// The text of a success.
    async fn ok(&self, name: &str, arguments: Value) -> String {
        let output = self.run(name, arguments).await;
        assert_eq!(output.status, CallStatus::Ok, "{}", output.text);
        assert!(output.text.len() <= CallResult::CAP, "the tool's own cut comes first");
        output.text.as_ref().to_owned()
    }

    /// The text of a failure.
    async fn error(&self, name: &str, arguments: Value) -> String {
        let output = self.run(name, arguments).await;
        assert_eq!(output.status, CallStatus::Error, "{}", output.text);
        output.text.as_ref().to_owned()
    }

    async fn tree(&self) -> String {
        self.ok("workspace_tree", json!({})).await
    }
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn only_a_directory_is_a_workspace() {
    let all = TempDir::new().unwrap();
    let missing = all.path().join("missing");
    let error = Workspace::open(&missing).unwrap_err().to_string();
    let expected = "does not exist: create it or name another directory";
    assert_eq!(error, format!("the workspace `{}` {expected}", missing.display()));
    let file = all.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(
        matches!(Workspace::open(&file), Err(WorkspaceError::NotADirectory { path }) if path == file)
    );
    let inner = all.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let hidden = Workspace::open(&inner).unwrap().hide(all.path());
    assert!(matches!(hidden, Err(WorkspaceError::HidesAll { path }) if path == all.path()));
}

#[tokio::test]
async fn the_tools_are_read_only_and_say_what_they_take() {
    let place = Place::new(&[]);
    let of = |name: &str| place.toolbox.get(name).unwrap().spec().clone();
    for (name, required, names) in [
        ("read_file", json!(["path"]), vec!["end_line", "path", "start_line"]),
        (
            "search_workspace",
            json!(["pattern"]),
            vec!["glob", "ignore_case", "max_results", "path", "pattern"],
        ),
        ("workspace_tree", Value::Null, vec!["depth", "path"]),
    ] {
        let spec = of(name);
        println!("{name}: {}", spec.schema);
        assert_eq!(spec.effect, EffectClass::ReadOnly);
        let schema: Value = serde_json::from_str(&spec.schema).unwrap();
        assert_eq!(schema["required"], required);
        let mut found: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        found.sort();
        assert_eq!(found, names);
    }
    let unknown = place.run("read_file", json!({ "path": "a", "line": 1 })).await;
    assert_eq!(unknown.status, CallStatus::Malformed);
}

#[tokio::test]
async fn a_tree_shows_everything_that_is_not_left_out_in_order() {
    let place = Place::new(&[
        ("src/main.rs", "fn main() {\n}\n"),
        ("src/deep/er/last.txt", "no newline"),
        ("README.md", ""),
        (".env.example", "A=1\n"),
        (".git/config", "[core]\n"),
        (".gitignore", "*.log\n/build/\n"),
        ("run.log", "x\n"),
        ("src/keep.log", "x\n"),
        ("src/.gitignore", "!keep.log\n"),
        ("build/out", "x\n"),
        (".kinfolk/db", "x\n"),
        ("logo.png", "\u{89}PNG\0"),
    ]);
    fs::create_dir(place.root().join("empty")).unwrap();
    symlink("src", place.root().join("way")).unwrap();
    symlink("../secret.txt", place.root().join("out")).unwrap();
    let expected = "\
.env.example  (1 lines, 4 bytes)
.gitignore  (2 lines, 14 bytes)
README.md  (0 lines, 0 bytes)
empty/
logo.png  (binary, 6 bytes)
out  (link)
src/
src/.gitignore  (1 lines, 10 bytes)
src/deep/
src/deep/er/
src/deep/er/last.txt  (1 lines, 10 bytes)
src/keep.log  (1 lines, 2 bytes)
src/main.rs  (2 lines, 14 bytes)
way  (link)
";
    assert_eq!(place.tree().await, expected);
    let below = place.ok("workspace_tree", json!({ "path": "src/deep", "depth": 1 })).await;
    let remark = "[cut: 1 levels are shown; pass `path` or a larger `depth` to see more]";
    assert_eq!(below, format!("src/deep/er/\n{remark}\n"));
    assert_eq!(place.ok("workspace_tree", json!({ "path": "empty" })).await, "[empty]\n");
    let file = place.error("workspace_tree", json!({ "path": "README.md" })).await;
    assert_eq!(file, "`README.md` is not a directory: read it with read_file");
}

#[tokio::test]
async fn a_large_tree_is_cut_to_its_upper_levels() {
    let place = Place::new(&[("z/last", "x\n")]);
    for n in 0..1000 {
        write(&place.root(), &format!("a/{n}"), "");
    }
    let remark = "[cut: 1 levels are shown, with the next there are too many entries; pass `path` \
                  to see more]";
    assert_eq!(place.tree().await, format!("a/\nz/\n{remark}\n"));
    let part = place.ok("workspace_tree", json!({ "path": "a" })).await;
    let shown = part.lines().count() - 1;
    let remark = format!("[cut: the first {shown} entries are shown, there are more]");
    assert_eq!(part.lines().last(), Some(remark.as_str()));
}

#[tokio::test]
async fn a_file_is_read_by_lines_with_their_numbers() {
    let place = Place::new(&[("a.txt", "one\r\ntwo\n\nfour"), ("empty", "")]);
    let read = |arguments| place.ok("read_file", arguments);
    let whole = "a.txt: lines 1-4 of 4\n     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n";
    assert_eq!(read(json!({ "path": "a.txt" })).await, whole);
    let absolute = place.root().join("./a.txt");
    assert_eq!(read(json!({ "path": absolute })).await, whole);
    let part = read(json!({ "path": "a.txt", "start_line": 2, "end_line": 3 })).await;
    assert_eq!(part, "a.txt: lines 2-3 of 4\n     2\ttwo\n     3\t\n");
    let rest = read(json!({ "path": "a.txt", "start_line": 4, "end_line": 99 })).await;
    assert_eq!(rest, "a.txt: lines 4-4 of 4\n     4\tfour\n");
    assert_eq!(read(json!({ "path": "empty" })).await, "empty: empty\n");
    let beyond = place.error("read_file", json!({ "path": "a.txt", "start_line": 5 })).await;
    assert_eq!(beyond, "`a.txt` has 4 lines: start_line 5 is beyond its end");
    let swapped = json!({ "path": "a.txt", "start_line": 3, "end_line": 2 });
    let swapped = place.error("read_file", swapped).await;
    assert_eq!(swapped, "end_line (2) is before start_line (3): swap them");
    let directory = place.error("read_file", json!({ "path": "" })).await;
    assert_eq!(directory, "`` is a directory: list it with workspace_tree");
}

#[tokio::test]
async fn long_files_and_long_lines_are_cut_and_say_how_to_go_on() {
    let place = Place::new(&[("many", &"x\n".repeat(5000)), ("long", &"y".repeat(3000))]);
    let many = place.ok("read_file", json!({ "path": "many" })).await;
    assert!(many.starts_with("many: lines 1-2000 of 5000\n     1\tx\n"), "{many}");
    assert!(many.ends_with("  2000\tx\n[cut: read on with start_line = 2001]\n"), "{many}");
    let rest = json!({ "path": "many", "start_line": 4999 });
    let rest = place.ok("read_file", rest).await;
    assert_eq!(rest, "many: lines 4999-5000 of 5000\n  4999\tx\n  5000\tx\n");
    let long = place.ok("read_file", json!({ "path": "long" })).await;
    let line = format!("     1\t{} [cut: 2000 of 3000 bytes]\n", "y".repeat(2000));
    assert_eq!(long, format!("long: lines 1-1 of 1\n{line}"));
}

#[tokio::test]
async fn of_a_huge_file_only_what_was_asked_is_read() {
    let place = Place::new(&[("huge", "first\nsecond\n")]);
    // Sparse: a terabyte that takes no room, and far too much to read.
    let huge = fs::OpenOptions::new().write(true).open(place.root().join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let binary = place.error("read_file", json!({ "path": "huge" })).await;
    let text = "`huge` is a binary file of 1099511627776 bytes: read_file shows text only";
    assert_eq!(binary, text);
    write(&place.root(), "huge", "x\n".repeat(16 * 1024));
    let huge = fs::OpenOptions::new().write(true).open(place.root().join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let part = json!({ "path": "huge", "start_line": 2, "end_line": 2 });
    let part = place.ok("read_file", part).await;
    assert!(part.starts_with("huge: lines 2-2 of more than "), "{part}");
    assert!(part.ends_with("\n     2\tx\n"), "{part}");
    let far = json!({ "path": "huge", "start_line": 1_000_000 });
    let far = place.error("read_file", far).await;
    assert_eq!(far, "line 16385 of `huge` is too long to be read over: search the file");
    assert_eq!(place.tree().await, "huge  (1099511627776 bytes)\n");
}

#[tokio::test]
async fn what_is_no_text_is_refused_and_broken_text_is_mended() {
    let place = Place::new(&[]);
    write(&place.root(), "binary", b"ab\0cd");
    write(&place.root(), "broken", b"a\xffb\n");
    let binary = place.error("read_file", json!({ "path": "binary" })).await;
    assert_eq!(binary, "`binary` is a binary file of 5 bytes: read_file shows text only");
    let broken = place.ok("read_file", json!({ "path": "broken" })).await;
    assert_eq!(broken, "broken: lines 1-1 of 1\n     1\ta\u{fffd}b\n");
    let found = place.ok("search_workspace", json!({ "pattern": "^a" })).await;
    assert_eq!(found, "broken:1: a\u{fffd}b\n");
}

#[tokio::test]
async fn nothing_outside_of_the_workspace_can_be_read() {
    let place = Place::new(&[("in/a.txt", "inside\n")]);
    let (root, all) = (place.root(), place.all.path().to_owned());
    symlink("../../secret.txt", root.join("in/file")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink(all.join("secret.txt"), root.join("absolute")).unwrap();
    symlink("a.txt", root.join("in/fine")).unwrap();
    let absolute = all.join("root-2/secret.txt").display().to_string();
    let through = root.join("../secret.txt").display().to_string();
    for path in [
        "../secret.txt",
        "in/../../secret.txt",
        "in/file",
        "up/secret.txt",
        "absolute",
        "/etc/passwd",
        absolute.as_str(),
        through.as_str(),
    ] {
        let refused = place.error("read_file", json!({ "path": path })).await;
        assert_eq!(refused, format!("`{path}` {OUTSIDE}"));
        let refused = json!({ "pattern": "secret", "path": path });
        let refused = place.error("search_workspace", refused).await;
        assert_eq!(refused, format!("`{path}` {OUTSIDE}"));
    }
    let up = place.error("workspace_tree", json!({ "path": "up" })).await;
    assert_eq!(up, format!("`up` {OUTSIDE}"));
    let found = place.ok("search_workspace", json!({ "pattern": "secret|inside" })).await;
    assert_eq!(found, "in/a.txt:1: inside\n");
    let inside = place.ok("read_file", json!({ "path": "in/fine" })).await;
    assert_eq!(inside, "in/a.txt: lines 1-1 of 1\n     1\tinside\n");
}

#[tokio::test]
async fn hidden_directories_do_not_exist_not_even_through_links() {
    let files = [(".kinfolk/db", "secret\n"), ("data/run/db", "secret\n"), ("data-2", "x\n")];
    let place = Place::hiding(&files, Some("data"));
    symlink("data/run", place.root().join("way")).unwrap();
    symlink("data/run/db", place.root().join("file")).unwrap();
    for path in ["data/run/db", "data", "way/db", "file", ".kinfolk/db", "data-2/../data/run/db"] {
        let refused = place.error("read_file", json!({ "path": path })).await;
        assert_eq!(refused, format!("`{path}` {MISSING}"));
    }
    let shown = "data-2  (1 lines, 2 bytes)\nfile  (link)\nway  (link)\n";
    assert_eq!(place.tree().await, shown);
    let found = place.ok("search_workspace", json!({ "pattern": "secret" })).await;
    assert_eq!(found, "[no matches in 1 files]\n");
}

#[tokio::test]
async fn a_pipe_holds_nobody_up() {
    let place = Place::new(&[("a", "x\n")]);
    let made = Command::new("mkfifo").arg(place.root().join("pipe")).status().unwrap();
    assert!(made.success());
    let refused = place.error("read_file", json!({ "path": "pipe" })).await;
    let text = "`pipe` is not a regular file (a pipe, socket or device) and cannot be read";
    assert_eq!(refused, text);
    assert_eq!(place.tree().await, "a  (1 lines, 2 bytes)\npipe  (special)\n");
    let found = place.ok("search_workspace", json!({ "pattern": "x" })).await;
    assert_eq!(found, "a:1: x\n");
}

#[tokio::test]
async fn a_search_gives_path_line_and_text_in_order() {
    let place = Place::new(&[
        ("b.md", "Needle\n"),
        ("a/x.rs", "one\n  needle here\n"),
        ("a/y.rs", "needle\nneedle\n"),
        ("skipped/z.rs", "needle\n"),
        (".ignore", "skipped\n"),
    ]);
    let search = |arguments| place.ok("search_workspace", arguments);
    let all = "a/x.rs:2:   needle here\na/y.rs:1: needle\na/y.rs:2: needle\n";
    assert_eq!(search(json!({ "pattern": "n.edle" })).await, all);
    let both = search(json!({ "pattern": "needle", "ignore_case": true, "glob": "*.md" })).await;
    assert_eq!(both, "b.md:1: Needle\n");
    let part = search(json!({ "pattern": "needle", "path": "a", "glob": "a/y.*" })).await;
    assert_eq!(part, "a/y.rs:1: needle\na/y.rs:2: needle\n");
    let named = search(json!({ "pattern": "needle", "path": "skipped/z.rs" })).await;
    assert_eq!(named, "skipped/z.rs:1: needle\n");
    let cut = search(json!({ "pattern": "needle", "max_results": 1 })).await;
    let remark = "[cut: the first 1 matching lines are shown; narrow `pattern`, `path` or `glob`]";
    assert_eq!(cut, format!("a/x.rs:2:   needle here\n{remark}\n"));
    let none = search(json!({ "pattern": "needless" })).await;
    assert_eq!(none, "[no matches in 4 files]\n");
    let invalid = place.error("search_workspace", json!({ "pattern": "(" })).await;
    assert!(invalid.starts_with("`pattern` is not valid: "), "{invalid}");
    let invalid = json!({ "pattern": "x", "glob": "[" });
    let invalid = place.error("search_workspace", invalid).await;
    assert!(invalid.starts_with("`glob` is not valid: "), "{invalid}");
}

#[tokio::test]
async fn what_is_too_deep_is_left_out_with_a_mark() {
    let deep = |levels: usize| format!("{}f.txt", "d/".repeat(levels));
    let place = Place::new(&[(&deep(63), "needle\n"), (&deep(64), "needle\n")]);
    let found = place.ok("search_workspace", json!({ "pattern": "needle" })).await;
    let mark = "[cut: what lies deeper than 64 levels is not searched; pass `path` to search it]";
    assert_eq!(found, format!("{}:1: needle\n{mark}\n", deep(63)));
    let below = place.ok("search_workspace", json!({ "pattern": "needle", "path": "d/d" })).await;
    assert_eq!(below.lines().count(), 2, "{below}");
    let tree = place.ok("workspace_tree", json!({ "depth": 64 })).await;
    assert!(tree.ends_with("[cut: 64 levels are shown; pass `path` to see more]\n"), "{tree}");
}

#[tokio::test]
async fn a_pattern_that_would_take_much_memory_is_refused() {
    let place = Place::new(&[("a.txt", "a\n")]);
    let pattern = json!({ "pattern": r"\w{2000}" });
    let message = "`pattern` is too large: compiled it takes more than 4194304 bytes; \
                   use fewer or smaller repetitions";
    assert_eq!(place.error("search_workspace", pattern).await, message);
    let found = place.ok("search_workspace", json!({ "pattern": r"^\w{1,20}$" })).await;
    assert_eq!(found, "a.txt:1: a\n");
}

#[tokio::test]
async fn a_cancel_stops_work_under_way() {
    let place = Place::new(&[]);
    write(&place.root(), "large", "some text to search\n".repeat(3 * 1024 * 1024));
    for (name, arguments) in [
        ("read_file", json!({ "path": "large", "start_line": 10_000_000 })),
        ("search_workspace", json!({ "pattern": "[a-z]+ [0-9]+", "path": "large" })),
    ] {
        let token = CancellationToken::new();
        let cancel = async { token.cancel() };
        let (ended, ()) = tokio::join!(place.call(name, &arguments, &token), cancel);
        let text = "cancelled before it was done".into();
        assert_eq!(ended, ToolOutput { status: CallStatus::Cancelled, text }, "{name}");
    }
}
