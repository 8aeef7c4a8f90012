//! A family of explorers, played against tools of this test.

use std::collections::BTreeMap;

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::context::{ModelRequest, RequestCall, RequestMessage};
use kinfolk_actors::family::{CALL_SUBAGENT, Offer, Placement, ToolChoice, ToolSpec};
use kinfolk_actors::id::RequestNo;

use super::*;
use crate::ports::model::NoDeltas;

type Files = BTreeMap<&'static str, &'static str>;

fn files() -> Files {
    [
        ("README.md", "# Boats\n\nA small program.\n"),
        ("docs/guide.md", "# Guide\n"),
        ("src/lib.rs", "//! Counts boats.\npub fn count() {}\n"),
        ("src/sail/jib.rs", "fn hoist() {}\n"),
        ("tests/all.py", "def test_all():\n    pass\n"),
        ("web/index.html", "<p>Boats</p>\n"),
    ]
    .into()
}

fn tool(name: &str, properties: &str) -> ToolSpec {
    let schema = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
    ToolSpec {
        name: name.into(),
        description: "".into(),
        schema: schema.into(),
        effect: EffectClass::ReadOnly,
        placement: Placement::Runtime,
        offer: Offer::Always,
        cost: None,
    }
}

fn tools(leads: bool) -> Arc<[ToolSpec]> {
    let mut tools = vec![
        tool("workspace_tree", r#""path":{},"depth":{}"#),
        tool("read_file", r#""path":{}"#),
        tool("search_workspace", r#""pattern":{},"path":{}"#),
    ];
    if leads {
        tools.push(tool(CALL_SUBAGENT, r#""agent":{},"task":{},"label":{}"#));
    }
    tools.into()
}

fn tree(files: &Files, path: &str, depth: usize) -> String {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut lines: Vec<String> = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with(&prefix)) {
        let inside = &path[prefix.len()..];
        for (at, _) in inside.match_indices('/').take(depth) {
            let folder = format!("{prefix}{}/", &inside[..at]);
            if !lines.contains(&folder) {
                lines.push(folder);
            }
        }
        if inside.matches('/').count() < depth {
            lines.push(format!("{path}  ({} lines, {} bytes)", text.lines().count(), text.len()));
        }
    }
    if files.keys().any(|path| path.matches('/').count() >= depth) {
        let remark = "levels are shown; pass `path` or a larger `depth` to see more]";
        lines.push(format!("[cut: {depth} {remark}"));
    }
    lines.join("\n")
}

/// Runs one tool; an unknown file is an error.
fn run(files: &Files, call: &RawCall) -> Result<String, String> {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let path = arguments["path"].as_str().unwrap_or_default();
    match call.name.as_ref() {
        "workspace_tree" => {
            let depth = arguments["depth"].as_u64().map_or(99, |depth| depth.try_into().unwrap());
            Ok(tree(files, path, depth))
        }
        "read_file" => match files.get(path) {
            Some(text) => {
                let numbered = text.lines().enumerate();
                let lines: Vec<String> =
                    numbered.map(|(n, line)| format!("{:6}\t{line}", n + 1)).collect();
                let n = lines.len();
                Ok(format!("{path}: lines 1-{n} of {n}\n{}\n", lines.join("\n")))
            }
            None => Err(format!("{path} cannot be read")),
        },
        "search_workspace" => {
            let inside = files.iter().filter(|(file, _)| file.starts_with(path));
            let lines = inside.flat_map(|(file, text)| {
                let numbered = text.lines().enumerate();
                let found = numbered.filter(|(_, l)| l.contains("fn ") || l.contains("def "));
                found.map(move |(n, line)| format!("{file}:{}: {line}", n + 1))
            });
            Ok(lines.collect::<Vec<_>>().join("\n"))
        }
        CALL_SUBAGENT => {
            let task = arguments["task"].as_str().unwrap();
            let notice = match task.contains("tests/") && files.contains_key("fail") {
                true => serde_json::json!({"subagent": "sub-3", "status": "failed",
                    "summary": "it broke", "blocked_reason": "limit.time"}),
                false => serde_json::json!({"subagent": "sub-1", "status": "completed",
                    "summary": play(files, task, false).0}),
            };
            if notice["status"] == "failed" {
                Err(notice.to_string())
            } else {
                Ok(notice.to_string())
            }
        }
        other => panic!("unknown tool {other}"),
    }
}

/// Plays one agent to its answer; returns it and the names of the calls of each reply.
fn play(files: &Files, task: &str, leads: bool) -> (String, Vec<String>) {
    let mut request = ModelRequest {
        model: "scripted:explorer".into(),
        system: "".into(),
        messages: vec![RequestMessage::User(task.into())],
        tools: tools(leads),
        tool_choice: ToolChoice::Auto,
        max_output: None,
    };
    let mut replies = Vec::new();
    for number in 1..10 {
        let call = ModelCall {
            request: &request,
            agent: "a",
            purpose: Purpose::Reply,
            number: RequestNo(number),
            deltas: &NoDeltas,
        };
        let reply = futures::executor::block_on(Explorer.call(call)).unwrap();
        if reply.calls.is_empty() {
            return (reply.text.to_string(), replies);
        }
        let names: Vec<&str> = reply.calls.iter().map(|call| call.name.as_ref()).collect();
        replies.push(names.join(" "));
        let calls = reply.calls.iter().map(|call| RequestCall {
            id: Arc::clone(&call.provider_id),
            name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
        });
        let calls = calls.collect();
        request.messages.push(RequestMessage::Assistant { text: reply.text, calls, opaque: None });
        for call in &reply.calls {
            let (text, is_error) = match run(files, call) {
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
            request.messages.push(RequestMessage::ToolResult {
                id: Arc::clone(&call.provider_id),
                name: Arc::clone(&call.name),
                text: text.into(),
                is_error,
            });
        }
    }
    panic!("no answer; the calls were {replies:?}");
}

const ANSWER: &str = "\
# The workspace

5 parts at the top level, 5 of them explored by 3 explorers.

## README.md: 1 files, 3 lines, 26 bytes
- README.md  (3 lines, 26 bytes): “Boats”

## docs/: 1 files, 1 lines, 8 bytes
- docs/guide.md  (1 lines, 8 bytes): “Guide”

## src/: 2 files, 3 lines, 50 bytes
- src/lib.rs  (2 lines, 36 bytes): “Counts boats.”
- src/sail/jib.rs  (1 lines, 14 bytes): “fn hoist() {}”
- 2 definitions: count, hoist

## tests/: 1 files, 2 lines, 25 bytes
- tests/all.py  (2 lines, 25 bytes): “def test_all():”
- 1 definitions: test_all

## web/: 1 files, 1 lines, 13 bytes
- web/index.html  (1 lines, 13 bytes): “<p>Boats</p>”
";

#[test]
fn a_family_answers_with_each_part_its_files_and_what_they_say() {
    let (answer, replies) = play(&files(), "Explore the workspace.", true);
    assert_eq!(answer, ANSWER);
    let all = "call_subagent call_subagent call_subagent";
    assert_eq!(replies, ["workspace_tree", all]);
}

#[test]
fn one_changed_file_changes_the_answer() {
    for (path, text) in files() {
        let changed: &'static str = Box::leak(format!("# Other\n{text}").into_boxed_str());
        let mut files = files();
        files.insert(path, changed);
        let (answer, _) = play(&files, "Explore the workspace.", true);
        assert_ne!(answer, ANSWER, "{path}");
        assert!(answer.contains("“Other”"), "{path}: {answer}");
    }
}

#[test]
fn an_explorer_reads_and_searches_in_one_reply() {
    let (report, replies) =
        play(&files(), "Explore:\n- src/\n- gone.md  (1 lines, 3 bytes)", false);
    let looks = "read_file read_file read_file search_workspace";
    assert_eq!(replies, ["workspace_tree", looks]);
    let expected = "\
## gone.md: 1 files, 1 lines, 3 bytes
- gone.md  (1 lines, 3 bytes): could not be read: gone.md cannot be read
## src/: 2 files, 3 lines, 50 bytes
- src/lib.rs  (2 lines, 36 bytes): “Counts boats.”
- src/sail/jib.rs  (1 lines, 14 bytes): “fn hoist() {}”
- 2 definitions: count, hoist
";
    assert_eq!(report, expected);
}

#[test]
fn a_failed_subagent_is_told_in_the_answer() {
    let mut files = files();
    files.insert("fail", "yes\n");
    let (answer, _) = play(&files, "Explore the workspace.", true);
    assert!(answer.contains("\n## tests/: not explored\n"), "{answer}");
    assert!(answer.ends_with("- sub-3: failed (limit.time): it broke\n"), "{answer}");
}

#[test]
fn small_workspaces_need_fewer_helpers() {
    let (answer, replies) = play(&Files::new(), "Explore.", true);
    assert_eq!((answer.as_str(), replies.len()), ("The workspace is empty.", 1));
    let (_, replies) = play(&[("a.txt", "x\n")].into(), "Explore.", true);
    assert_eq!(replies, ["workspace_tree", "call_subagent"]);
}

#[test]
fn without_tools_the_answer_says_what_is_known() {
    let request = ModelRequest {
        model: "scripted:explorer".into(),
        system: "".into(),
        messages: vec![RequestMessage::User("Explore.".into())],
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        max_output: None,
    };
    let text = match next_move(&View::new(&request)) {
        Move::Answer(text) => text,
        Move::Call(..) => panic!("it calls a tool that it has not"),
    };
    assert!(text.contains("could not be called"), "{text}");
}
