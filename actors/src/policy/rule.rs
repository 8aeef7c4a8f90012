//! Rules: which calls are meant. The matchers of a rule must all hold, of several rules one is
//! enough. A missing argument matches nothing.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::call::{COMMAND, Examined};
use super::matcher::{BadPattern, Matcher, Pattern, Spelling, wildcard};
use super::shell::Command;

/// What a rule asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Nobody has to be asked.
    Never,
    /// A person has to be asked, unless the mode runs everything.
    Required,
    /// A person has to be asked in every mode.
    #[default]
    Always,
}

/// One rule. Written as a text (`"git status"`, see [`Rule::short`]) or as a table
/// (`{ tool = "write_file", match = { path = { prefix = "docs/" } } }`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Short { text: String, matcher: Matcher },
    Full(FullRule),
}

/// A rule as a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullRule {
    /// The tool's name, `*` for any characters; every tool if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What its arguments have to look like; no condition if it is empty.
    #[serde(default, rename = "match", skip_serializing_if = "BTreeMap::is_empty")]
    pub matches: BTreeMap<String, Matcher>,
    /// What it asks for. The lists `allow` and `deny` say that themselves and do not read it.
    #[serde(default)]
    pub policy: Need,
}

/// Variables that change how a program speaks, not what it runs.
const HARMLESS_VARIABLES: [&str; 12] = [
    "CI",
    "CLICOLOR",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "LINES",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

impl Rule {
    /// A rule that is one text. It means the tool of that name, and the commands of a shell line
    /// that begin with these words: `git status` (or `git status:*`) means `git status --short`
    /// too, never `git statusfoo`. With another `*` in it, it is a wildcard for either.
    ///
    /// # Errors
    /// The text is empty or too long.
    pub fn short(text: &str) -> Result<Self, BadPattern> {
        let pattern = match Pattern::read(text) {
            Pattern::Exact(text) => Pattern::Command(text),
            pattern @ (Pattern::Prefix(_)
            | Pattern::Wildcard(_)
            | Pattern::Regex(_)
            | Pattern::Command(_)) => pattern,
        };
        let matcher = Matcher::new(pattern)?;
        Ok(Self(Kind::Short { text: text.to_owned(), matcher }))
    }

    /// A rule from its parts.
    #[must_use]
    pub fn new(rule: FullRule) -> Self {
        Self(Kind::Full(rule))
    }

    /// What it asks for.
    #[must_use]
    pub fn need(&self) -> Need {
        match &self.0 {
            Kind::Short { .. } => Need::default(),
            Kind::Full(rule) => rule.policy,
        }
    }

    /// Whether the call is meant, in a rule that **holds up**: of several commands or list parts
    /// one is enough, and a program is the same in any directory.
    #[must_use]
    pub fn hits(&self, call: &Examined<'_>) -> bool {
        match &self.0 {
            Kind::Short { matcher, .. } => {
                names(matcher.pattern(), call.tool) || hits_line(matcher, call)
            }
            Kind::Full(rule) => rule.hits(call),
        }
    }

    /// Whether the whole call is meant, in a rule that **lets pass**, without a look at commands.
    fn allows_call(&self, call: &Examined<'_>) -> bool {
        match &self.0 {
            Kind::Short { matcher, .. } => names(matcher.pattern(), call.tool),
            Kind::Full(rule) => {
                let over_line = call.line.is_some() && rule.matches.contains_key(COMMAND);
                !over_line && rule.is_for(call.tool) && rule.allows_arguments(call)
            }
        }
    }

    /// Whether it lets one command of the call's line pass.
    fn allows_command(&self, call: &Examined<'_>, command: &Command) -> bool {
        let matcher = match &self.0 {
            Kind::Short { matcher, .. } => Some(matcher),
            Kind::Full(rule) => {
                let fits = rule.is_for(call.tool) && rule.allows_arguments(call);
                rule.matches.get(COMMAND).filter(|_| fits)
            }
        };
        matcher.is_some_and(|matcher| matcher.matches_command(command, Spelling::Written))
    }
}

/// Whether the rules let a call pass: one of them means the whole call, or each command of its
/// shell line is meant by one of them and does nothing beside (it writes no file by redirection,
/// sets no variable that changes what is run, and its program is known).
#[must_use]
pub fn allowed_by(rules: &[Rule], call: &Examined<'_>) -> bool {
    if rules.iter().any(|rule| rule.allows_call(call)) {
        return true;
    }
    let Some(line) = call.commands() else { return false };
    let own = || line.commands.iter().filter(|command| does_something(command));
    own().next().is_some()
        && own().all(|command| {
            command.is_named() && rules.iter().any(|rule| rule.allows_command(call, command))
        })
        && line.commands.iter().all(|command| !writes_or_sets(command))
}

/// Whether it runs a program of its own: no wrapper, no `done < file`.
fn does_something(command: &Command) -> bool {
    !command.is_wrapper() && !command.words.is_empty()
}

fn writes_or_sets(command: &Command) -> bool {
    let sets = |name: &String| !HARMLESS_VARIABLES.contains(&name.as_str());
    command.redirects.iter().any(|redirect| redirect.writes())
        || command.assignments.iter().any(sets)
}

fn names(pattern: &Pattern, tool: &str) -> bool {
    match pattern {
        Pattern::Wildcard(pattern) => wildcard(pattern, tool),
        Pattern::Command(text) => text == tool,
        Pattern::Exact(_) | Pattern::Prefix(_) | Pattern::Regex(_) => false,
    }
}

fn hits_line(matcher: &Matcher, call: &Examined<'_>) -> bool {
    let any = Spelling::AnyDirectory;
    let in_command =
        |line: &[Command]| line.iter().any(|command| matcher.matches_command(command, any));
    call.commands().is_some_and(|line| in_command(&line.commands))
        || call.raw_line().is_some_and(|line| matcher.matches(&line))
}

impl FullRule {
    /// As [`Rule::hits`].
    #[must_use]
    pub fn hits(&self, call: &Examined<'_>) -> bool {
        let mut matches = self.matches.iter();
        self.is_for(call.tool)
            && matches.all(|(name, matcher)| {
                let texts = call.texts(name);
                texts.iter().any(|text| matcher.matches(text))
                    || (name == COMMAND && hits_line(matcher, call))
            })
    }

    fn is_for(&self, tool: &str) -> bool {
        self.tool.as_ref().is_none_or(|pattern| wildcard(pattern, tool))
    }

    /// Every matcher but that of a shell line, over every part of its argument.
    fn allows_arguments(&self, call: &Examined<'_>) -> bool {
        let mut matches =
            self.matches.iter().filter(|(name, _)| *name != COMMAND || call.line.is_none());
        matches.all(|(name, matcher)| {
            let texts = call.texts(name);
            let fits =
                |text: &str| matcher.matches(text) && !(matcher.is_open_ended() && climbs(text));
            !texts.is_empty() && texts.iter().all(|text| fits(text))
        })
    }
}

/// Whether a path has `..` in it: `docs/../x` begins with `docs/` and is not in it.
fn climbs(text: &str) -> bool {
    text.split(['/', '\\']).any(|part| part == "..")
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Short { text, .. } => f.write_str(text),
            Kind::Full(rule) => {
                f.write_str(rule.tool.as_deref().unwrap_or("*"))?;
                let mut names = rule.matches.keys();
                if let Some(first) = names.next() {
                    write!(f, " by {first}")?;
                }
                names.try_for_each(|name| write!(f, ", {name}"))
            }
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Kind::Short { text, .. } => serializer.serialize_str(text),
            Kind::Full(rule) => rule.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = Rule;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rule: a text such as `git status`, or a table with tool and match")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Rule, E> {
                Rule::short(text).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Rule, A::Error> {
                FullRule::deserialize(MapAccessDeserializer::new(map)).map(Rule::new)
            }
        }

        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(json: &str) -> Vec<Rule> {
        serde_json::from_str(json).unwrap()
    }

    #[track_caller]
    fn check(json: &str, tool: &str, arguments: &str, hits: bool, allows: bool) {
        let arguments = serde_json::from_str(arguments).unwrap();
        let call = Examined::new(tool, &arguments);
        let rules = rules(json);
        assert_eq!(rules.iter().any(|rule| rule.hits(&call)), hits, "hits {tool} {arguments:?}");
        assert_eq!(allowed_by(&rules, &call), allows, "allows {tool} {arguments:?}");
    }

    #[test]
    fn a_short_rule_means_a_tool_or_commands() {
        check(r#"["write_file"]"#, "write_file", r#"{"path":"a"}"#, true, true);
        check(r#"["write_file"]"#, "write_files", "{}", false, false);
        check(r#"["mcp_git_*"]"#, "mcp_git_log", "{}", true, true);
        check(r#"["git status"]"#, "run", r#"{"command":"git status -s"}"#, true, true);
        check(r#"["git status:*"]"#, "run", r#"{"command":"git statusfoo"}"#, false, false);
        // The shell looks for files that fit: what runs is not what is written.
        check(r#"["l*"]"#, "run", r#"{"command":"l?"}"#, true, false);
        check(r#"["cargo * --locked"]"#, "run", r#"{"command":"cargo b --locked"}"#, true, true);
    }

    #[test]
    fn letting_pass_needs_every_command_and_holding_up_one() {
        let check = |line: &str, hits, allows| {
            let arguments = serde_json::json!({ "command": line }).to_string();
            check(
                r#"["ls", {"match": {"command": "git log:*"}}]"#,
                "run",
                &arguments,
                hits,
                allows,
            );
        };
        check("ls; git log -1 | nohup ls", true, true);
        check("ls && rm x", true, false);
        check("rm x", false, false);
        check("/bin/ls", true, false);
        check("sudo ls", true, false);
        check("nohup ls 2>&1 > /dev/null", true, true);
        check("ls > f", true, false);
        check("nohup ls > f", true, false);
        check("(ls) > f", true, false);
        check("NO_COLOR=1 ls", true, true);
        check("PATH=. ls", true, false);
        check("PATH=.; ls", true, false);
        check("ls $X", true, true);
        check("$X ls", true, false);
        check("ls 'a", true, false);
        check("ls() { rm x; }; ls", true, false);
        check("for x in a b; do ls $x; done < f", true, true);
        check("", false, false);
        check("# ls", false, false);
    }

    #[test]
    fn all_matchers_of_a_rule_hold_and_a_missing_argument_matches_nothing() {
        let json = r#"[{"tool":"put","match":{"path":{"prefix":"docs/"},"mode":"w"}}]"#;
        check(json, "put", r#"{"path":"docs/a","mode":"w"}"#, true, true);
        check(json, "put", r#"{"path":"docs/a","mode":"r"}"#, false, false);
        check(json, "put", r#"{"path":"docs/a"}"#, false, false);
        check(json, "get", r#"{"path":"docs/a","mode":"w"}"#, false, false);
        check(json, "put", r#"{"path":["docs/a","b"],"mode":"w"}"#, true, false);
        check(json, "put", r#"{"path":"docs/../b","mode":"w"}"#, true, false);
        check(json, "put", r#"{"path":[],"mode":"w"}"#, false, false);
    }

    #[test]
    fn a_rule_without_matchers_means_the_whole_tool() {
        let json = r#"[{"tool":"run"}]"#;
        check(json, "run", r#"{"command":"rm x"}"#, true, true);
        check(r#"[{}]"#, "any", "{}", true, true);
        let both = r#"[{"tool":"run","match":{"command":"ls:*","cwd":"a"}}]"#;
        check(both, "run", r#"{"command":"ls -l","cwd":"a"}"#, true, true);
        check(both, "run", r#"{"command":"ls -l","cwd":"b"}"#, false, false);
    }

    #[test]
    fn rules_are_written_back_as_they_are() {
        for json in [
            r#"["git status:*"]"#,
            r#"[{"tool":"a","match":{"b":{"exact":"c"}},"policy":"required"}]"#,
        ] {
            assert_eq!(serde_json::to_string(&rules(json)).unwrap(), json);
        }
        for bad in [r#"[""]"#, r#"[{"tol":"a"}]"#, r#"[{"policy":"sometimes"}]"#, "[1]"] {
            assert!(serde_json::from_str::<Vec<Rule>>(bad).is_err(), "{bad}");
        }
        assert_eq!(
            rules(r#"[{"tool":"a","match":{"b":"c","d":"e"}}]"#)[0].to_string(),
            "a by b, d"
        );
    }
}
