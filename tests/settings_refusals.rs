//! Family files that are refused: the exact message for each mistake.

#[path = "support/family_file.rs"]
mod family_file;

use std::path::Path;

use kinfolk::settings::family_file::{FamilyFile, MAX_FILE};
use kinfolk::settings::freeze::{MAX_SUBAGENTS, MAX_TOOLS, Overrides};
use kinfolk_actors::family::Family;

fn freeze(text: &str) -> Result<Family, String> {
    family_file::freeze(text, &Overrides::default())
}

/// A lead that is right, in three lines.
const LEAD: &str = "[lead]\nprompt = 'p'\nmodel = 'openai:m'\n";

fn refused(text: &str) -> String {
    freeze(text).expect_err(text)
}

#[test]
fn every_bad_key_is_named_with_its_line() {
    let table = [
        ("", "f.toml:1: a family file needs a table `[lead]` with a `prompt`"),
        (
            "[lead]\nprompt = 'p'",
            "f.toml:2: [lead] names no model; add `model = \"PROVIDER:NAME\"` or use --model",
        ),
        ("[lead]\nmodel = 'openai:m'", "f.toml:1: [lead] needs `prompt`"),
        ("[lead]\nprompt = ' '", "f.toml:2: `prompt` in [lead] must not be empty"),
        ("[lead]\nprompt = 3", "f.toml:2: `prompt` in [lead] must be a string, not 3"),
        (
            "[lead]\npromt = 'p'",
            "f.toml:2: unknown key `promt` in [lead]; the nearest known key is `prompt` (known: prompt, model, tools, tool_choice, limits)",
        ),
        (
            "[lead]\nprompt = 'p'\n\"x\\u001by\" = 1",
            "f.toml:3: unknown key `x�y` in [lead]; the nearest known key is `model` (known: prompt, model, tools, tool_choice, limits)",
        ),
        ("lead = 'p'", "f.toml:1: `lead` in the file must be a table, `[lead]`, not a string"),
        (
            "[lead]\nprompt = 'p'\nmodel = 'm'",
            "f.toml:3: `model` in [lead]: `m` is no model; write `PROVIDER:NAME`, for example `openai:NAME`",
        ),
        (
            "[lead]\nprompt = 'p'\nmodel = 'acme:m'",
            "f.toml:3: `acme:m` has no known provider; use openai: or scripted:",
        ),
        (
            "[lead]\nprompt = 'p'\nlimits = { max_parallel = 2 }",
            "f.toml:3: unknown key `max_parallel` in `limits` in [lead]; the nearest known key is `max_time` (known: max_steps, max_tool_calls, max_tokens, max_cost, max_time)",
        ),
        ("[lead", "f.toml:1: this is not valid TOML: unclosed table, expected `]`"),
        ("[lead]\nprompt = 'p'\nprompt = 'p'", "f.toml:3: this is not valid TOML: duplicate key"),
    ];
    for (text, message) in table {
        assert_eq!(refused(text), message, "{text}");
    }
}

const BAD_TABLES: &[(&str, &str)] = &[
    ("[mcp.x]", "f.toml:4: `mcp` in the file is not supported by this version"),
    (
        "[limit]",
        "f.toml:4: unknown key `limit` in the file; the nearest known key is `limits` (known: lead, subagents, tools, limits, compaction, models, approval, workspace, data, session, durability, output)",
    ),
    (
        "[subagents]",
        "f.toml:4: `subagents` in the file must be a list of tables, each headed `[[subagents]]`, not a table",
    ),
    ("[[subagents]]\nname = 'a'", "f.toml:4: [[subagents]] needs `description`"),
    (
        "[[subagents]]\nname = 'a b'\nAGENT",
        "f.toml:5: `name` in [[subagents]]: `a b` is no usable name; use 1 to 64 of A-Z a-z 0-9 _ -",
    ),
    (
        "[[subagents]]\nname = 'lead'\nAGENT",
        "f.toml:5: `lead` is reserved (`lead`, `all`, `sub-…`); use another",
    ),
    (
        "[[subagents]]\nname = 'a'\nAGENT[[subagents]]\nname = 'a'\nAGENT",
        "f.toml:9: there are two subagents named `a`",
    ),
    (
        "[[subagents]]\nname = 'a'\nrole = 'boss'\nAGENT",
        "f.toml:6: `role` in [[subagents]]: `boss` is not known; use one of `explore`, `task`",
    ),
    (
        "[[subagents]]\nname = 'a'\ndelivery = 'post'\nAGENT",
        "f.toml:6: `delivery` in [[subagents]]: `post` is not known; use one of `answer`, `return`",
    ),
    (
        "[[subagents]]\nname = 'a'\ntools = ['task_return']\nAGENT",
        "f.toml:6: `a` has the tool `task_return` and ends by an answer; set `delivery = \"return\"` or take it away",
    ),
    (
        "[[subagents]]\nname = 'a'\nAGENTlimits = { max_steps = 'x' }",
        "f.toml:8: `max_steps` in `limits` in [[subagents]] must be a whole number from 1 to 9223372036854775807, not a string",
    ),
    ("TOOLcommand = []", "f.toml:7: `command` must begin with the name of a program"),
    ("TOOLcommand = ['']", "f.toml:7: `command` must begin with the name of a program"),
    (
        "TOOLcommand = 'sh x'",
        "f.toml:7: `command` in [[tools]] must be a list of strings, not a string",
    ),
    (
        "TOOLcommand = ['sh', 1]",
        "f.toml:7: `command` in [[tools]] must be a list of strings, not 1",
    ),
    ("TOOL", "f.toml:4: [[tools]] needs `command`, a list: the program and its arguments"),
    ("TOOLcheck = ['x']", "f.toml:7: `check` in [[tools]] is not supported by this version"),
    (
        "TOOLcommand = ['x']\neffect = 'reconcilable'",
        "f.toml:8: `effect` in [[tools]]: `reconcilable` is not supported by this version; it knows `read_only`, `idempotent`, `changing`",
    ),
    (
        "TOOLcommand = ['x']\ntimeout = 'soon'",
        "f.toml:8: `timeout` in [[tools]]: `soon` is no length of time; write for example `10s` or `2m`",
    ),
    (
        "TOOLcommand = ['x']\ntimeout = '25h'",
        "f.toml:8: `timeout` in [[tools]]: `25h` must be at least `1ms` and at most `24h`",
    ),
    (
        "TOOLcommand = ['x']\ntimeout = '0s'",
        "f.toml:8: `timeout` in [[tools]]: `0s` must be at least `1ms` and at most `24h`",
    ),
    (
        "TOOLcommand = ['x']\ntimeout = 10",
        "f.toml:8: `timeout` in [[tools]] must be a string, not 10",
    ),
    (
        "TOOLcommand = ['x']\nschema = { type = 'string' }",
        "f.toml:8: `schema` must have `type = \"object\"`: arguments are an object",
    ),
    (
        "TOOLcommand = ['x']\nschema = { type = 'object', required = 1 }",
        "f.toml:8: `schema` is no valid JSON schema: 1 is not of type \"array\"",
    ),
    (
        "TOOLcommand = ['x']\nschema = { type = 'object', default = nan }",
        "f.toml:8: `schema`: the number nan has no form in JSON",
    ),
    (
        "TOOLcommand = ['x']\ncost = -1",
        "f.toml:8: `cost` in [[tools]]: `-1` is not a valid amount of money: use dollars with at most 12 decimals, for example 0.50",
    ),
    (
        "TOOLcommand = ['x']\noffer = 'later'",
        "f.toml:8: `offer` in [[tools]]: `later` is not known; use one of `always`, `once_activated`",
    ),
    ("TOOLcommand = ['x']\nTOOLcommand = ['x']", "f.toml:9: there are two tools named `t`"),
    (
        "[[tools]]\nname = 'read_file'\ndescription = 'd'\ncommand = ['x']",
        "f.toml:5: `read_file` is the name of a built-in tool; use another one",
    ),
    (
        "[[tools]]\nname = 'spawn_subagent'\ndescription = 'd'\ncommand = ['x']",
        "f.toml:5: `spawn_subagent` is the name of a built-in tool; use another one",
    ),
];

#[test]
fn every_bad_table_beside_the_lead_is_named_with_its_line() {
    let agent = "description = 'd'\nprompt = 'p'\n";
    let tool = "[[tools]]\nname = 't'\ndescription = 'd'\n";
    for (rest, message) in BAD_TABLES {
        let rest = rest.replace("AGENT", agent).replace("TOOL", tool);
        assert_eq!(refused(&format!("{LEAD}{rest}")), *message, "{rest}");
    }
}

#[test]
fn what_does_not_fit_together_is_named_with_its_line() {
    let scout = "[[subagents]]\nname = 'scout'\ndescription = 'd'\nprompt = 'p'\n";
    let doer = "[[subagents]]\nname = 'doer'\nrole = 'task'\ndescription = 'd'\nprompt = 'p'\n";
    let tool = "[[tools]]\nname = 't'\ndescription = 'd'\ncommand = ['x']\n";
    let table = [
        (
            "tools = ['nope']\nTOOL",
            "f.toml:4: there is no tool `nope` for `lead`; the tools are: read_file, workspace_tree, search_workspace, call_subagent, spawn_subagent, wait_subagents, message_subagent, stop_subagent, ask_user, ask_parent, task_return, t",
        ),
        ("tools = ['read_file', 'read_file']", "f.toml:4: `lead` has the tool `read_file` twice"),
        (
            "tools = ['wait_subagents']",
            "f.toml:4: `lead` has the tool `wait_subagents` and the family has no [[subagents]]",
        ),
        (
            "tools = ['ask_parent']",
            "f.toml:4: the lead has no parent; `ask_parent` is for subagents",
        ),
        (
            "tools = ['call_subagent']",
            "f.toml:4: `lead` has the tool `call_subagent` and the family has no [[subagents]]",
        ),
        (
            "tool_choice = 'required'",
            "f.toml:4: `lead` must call a tool and has none; give it `tools`",
        ),
        (
            "tool_choice = { first = 'required' }",
            "f.toml:4: `lead` must call a tool and has none; give it `tools`",
        ),
        (
            "tool_choice = 'always'",
            "f.toml:4: `tool_choice` in [lead]: `always` is not known; use one of `auto`, `required`, `none`",
        ),
        (
            "tool_choice = {}",
            "f.toml:4: `tool_choice` in [lead] must be `auto`, `required`, `none` or `{ first = \"required\" }`",
        ),
        (
            "tool_choice = 1",
            "f.toml:4: `tool_choice` in [lead] must be `auto`, `required`, `none` or `{ first = \"required\" }`, not 1",
        ),
        (
            "tool_choice = { frst = 'auto' }",
            "f.toml:4: unknown key `frst` in `tool_choice` in [lead]; the nearest known key is `first` (known: first)",
        ),
        (
            "SCOUTtools = ['t']\nTOOL",
            "f.toml:8: `scout` has the role `explore` and its tool `t` is not read-only; take it away or use `role = \"task\"`",
        ),
        (
            "SCOUTtools = ['spawn_subagent']\nDOER",
            "f.toml:8: `scout` has the role `explore` and its tool `spawn_subagent` could start a subagent that changes things; take it away or use `role = \"task\"`",
        ),
        (
            "SCOUTtools = ['call_subagent']\nDOER",
            "f.toml:8: `scout` has the role `explore` and its tool `call_subagent` could start a subagent that changes things; take it away or use `role = \"task\"`",
        ),
    ];
    for (rest, message) in table {
        let rest = rest.replace("SCOUT", scout).replace("DOER", doer).replace("TOOL", tool);
        assert_eq!(refused(&format!("{LEAD}{rest}")), message, "{rest}");
    }
    let nested = format!(
        "{LEAD}{scout}tools = ['call_subagent', 'stop_subagent', 'ask_parent', 'ask_user']\n"
    );
    assert!(freeze(&nested).is_ok());
}

#[test]
fn a_family_has_a_bounded_number_of_subagents_and_tools() {
    let subagents = |count: usize| -> String {
        let one = |n| format!("[[subagents]]\nname='a{n}'\ndescription='d'\nprompt='p'\n");
        LEAD.to_owned() + &(0..count).map(one).collect::<String>()
    };
    assert!(freeze(&subagents(MAX_SUBAGENTS)).is_ok());
    let message = "f.toml:1029: there are 257 subagents; a family has at most 256";
    assert_eq!(refused(&subagents(MAX_SUBAGENTS + 1)), message);
    let tools = |count: usize| -> String {
        let one = |n| format!("[[tools]]\nname='t{n}'\ndescription='d'\ncommand=['true']\n");
        LEAD.to_owned() + &(0..count).map(one).collect::<String>()
    };
    assert!(freeze(&tools(MAX_TOOLS)).is_ok());
    let message = "f.toml:2053: there are 513 tools; a family has at most 512";
    assert_eq!(refused(&tools(MAX_TOOLS + 1)), message);
}

#[test]
fn files_that_are_no_text_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let refused = |path: &Path| {
        let error = FamilyFile::read(path).unwrap_err().to_string();
        error.replace(&path.display().to_string(), "FILE")
    };
    let missing = dir.path().join("missing.toml");
    assert_eq!(refused(&missing), "FILE: cannot be read: No such file or directory (os error 2)");
    let directory = "FILE: this is a directory; --family wants a TOML file";
    assert_eq!(refused(dir.path()), directory);
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let no_file = "FILE: this is no regular file; --family wants a TOML file";
    assert_eq!(refused(&pipe), no_file);
    let binary = write("binary.toml", b"[lead]\nprompt = '\xff'");
    assert_eq!(refused(&binary), "FILE:2: this is not UTF-8 text; save the file as UTF-8");
    let huge = write("huge.toml", &vec![b'#'; usize::try_from(MAX_FILE).unwrap() + 1]);
    let message = "FILE: is larger than 1048576 bytes; no family file may be";
    assert_eq!(refused(&huge), message);
    let marked = write("bom.toml", "\u{feff}[lead]\nprompt = 'p'\nx = 1".as_bytes());
    let message = "FILE:3: unknown key `x` in [lead]; the nearest known key is `model` \
                   (known: prompt, model, tools, tool_choice, limits)";
    assert_eq!(refused(&marked), message);
    assert!(FamilyFile::read(&write("good.toml", "\u{feff}[lead]\nprompt='p'".as_bytes())).is_ok());
}
