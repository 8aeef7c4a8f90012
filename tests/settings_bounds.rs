//! Limits, compaction, approvals and models of a family file that are refused, each with its line
//! and the exact message.

#[path = "support/family_file.rs"]
mod family_file;

use kinfolk::settings::freeze::Overrides;
use kinfolk_actors::family::Family;

fn freeze(text: &str) -> Result<Family, String> {
    family_file::freeze(text, &Overrides::default())
}

/// A lead that is right, in three lines.
const LEAD: &str = "[lead]\nprompt = 'p'\nmodel = 'openai:m'\n";

fn refused(text: &str) -> String {
    freeze(text).expect_err(text)
}

const BAD_TABLES: &[(&str, &str)] = &[
    (
        "[limits]\nmax_steps = 0",
        "f.toml:5: `max_steps` in [limits] must be a whole number from 1 to 9223372036854775807, not 0",
    ),
    (
        "[limits]\nmax_cost = 'much'",
        "f.toml:5: `max_cost` in [limits]: `much` is not a valid amount of money: use dollars with at most 12 decimals, for example 0.50",
    ),
    (
        "[limits]\nmax_cost = 0",
        "f.toml:5: `max_cost` in [limits]: a limit of money must be more than 0 dollars",
    ),
    (
        "[limits]\nmax_cost = true",
        "f.toml:5: `max_cost` in [limits] must be an amount of dollars, for example 0.50, not true",
    ),
    (
        "[limits]\nmax_time = '1 moon'",
        "f.toml:5: `max_time` in [limits]: `1 moon` is no length of time; write for example `10s` or `2m`",
    ),
    (
        "[limits]\non_limit = 'halt'",
        "f.toml:5: `on_limit` in [limits]: `halt` is not known; use one of `finish`, `stop`, `interrupt`, `ask`, `warn`",
    ),
    (
        "[limits]\nchild_budget = 'give'",
        "f.toml:5: `child_budget` in [limits]: `give` is not known; use one of `share`, `grant`, `mirror`",
    ),
    (
        "[compaction]\nkep = 1",
        "f.toml:5: unknown key `kep` in [compaction]; the nearest known key is `keep` (known: threshold, keep, model, fallback)",
    ),
    (
        "[compaction]\nmodel = 'acme:m'",
        "f.toml:5: `acme:m` has no known provider; use openai: or scripted:",
    ),
    (
        "[compaction]\nfallback = 'guess'",
        "f.toml:5: `fallback` in [compaction]: `guess` is not known; use one of `none`, `digest`",
    ),
    (
        "[limits]\nmax_parallel = 0",
        "f.toml:5: `max_parallel` in [limits] must be a whole number from 1 to 4294967295, not 0",
    ),
    (
        "[limits]\nmax_depth = -1",
        "f.toml:5: `max_depth` in [limits] must be a whole number from 0 to 4294967295, not -1",
    ),
    (
        "[limits]\nmax_depth = 'x'",
        "f.toml:5: `max_depth` in [limits] must be a whole number from 0 to 4294967295, not a string",
    ),
    (
        "[approval]\nmode = 'never'",
        "f.toml:5: `mode` in [approval]: `never` is not known; use one of `manual`, `allow-list`, `auto-run`, `headless`",
    ),
    (
        "[approval]\nalow = []",
        "f.toml:5: unknown key `alow` in [approval]; the nearest known key is `allow` (known: mode, allow, ask, deny, timeout, tools, blacklist)",
    ),
    ("[approval]\nallow = 'x'", "f.toml:5: `allow` in [approval] must be a list, not a string"),
    (
        "[approval]\nallow = [\n'git status',\n1]",
        "f.toml:7: `allow` in [approval] must be a list of texts and tables, for example `[\"git status\", { tool = \"x\" }]`, not 1",
    ),
    (
        "[approval]\ndeny = [{ tol = 'x' }]",
        "f.toml:5: unknown key `tol` in a rule of `deny`; the nearest known key is `tool` (known: tool, match, policy)",
    ),
    (
        "[approval]\nask = [{ tool = 'x', match = { path = { regx = 'x' } } }]",
        "f.toml:5: unknown key `regx` in the pattern of `path`; the nearest known key is `regex` (known: exact, prefix, wildcard, regex, command)",
    ),
    (
        "[approval]\nask = [{ match = { path = { regex = '(' } } }]",
        "f.toml:5: a rule of `ask` is wrong: `(` is not a usable regular expression: regex parse error: ( ^ error: unclosed group",
    ),
    (
        "[approval]\nallow = ['']",
        "f.toml:5: a rule of `allow` is wrong: the pattern `` is empty; write what it has to match",
    ),
    (
        "[approval]\ntimeout = '0s'",
        "f.toml:5: `timeout` in [approval]: `0s` must be at least `1ms` and at most `8760h`",
    ),
    ("[approval.tools]\nnope = 'never'", "f.toml:5: there is no tool `nope` to ask about"),
    (
        "[approval.tools]\nask_user = 'never'",
        "f.toml:5: `ask_user` never asks; it needs no setting",
    ),
    (
        "[approval.tools]\nread_file = 'sometimes'",
        "f.toml:5: the setting of `read_file` is wrong: unknown variant `sometimes`, expected one of `never`, `required`, `always`, `rules`, `dynamic`",
    ),
    (
        "[approval.tools]\nread_file = { dynamic = { kind = 'k', polcy = 'never' } }",
        "f.toml:5: unknown key `polcy` in `dynamic` in the setting of `read_file`; the nearest known key is `policy` (known: kind, default, policy)",
    ),
    (
        "[[approval.blacklist]]\nid = 'x'\nclas = 'network'",
        "f.toml:6: unknown key `clas` in a rule of `blacklist`; the nearest known key is `class` (known: id, class, about, rule)",
    ),
    (
        "[models.m]",
        "f.toml:4: a key of [models] is wrong: `m` is no model; write `PROVIDER:NAME`, for example `openai:NAME`",
    ),
    (
        "[models.'openai:m']\nretries = 3",
        "f.toml:5: `retries` in [models.\"openai:m\"] is not supported by this version",
    ),
    (
        "[models.'openai:m']\nwindow = '3'",
        "f.toml:5: `window` in [models.\"openai:m\"] must be a whole number from 1 to 9223372036854775807, not a string",
    ),
    (
        "[models.'openai:m']\nwindow = 1000\nresponse = 1000",
        "f.toml:4: a window of 1000 tokens has no room beside the 1000 that are set aside for the reply, the summary and safety; raise `window` or lower `response`, `summary_reserve` or `safety_buffer`",
    ),
    (
        "[models.'openai:m']\nprices = { input = 0.000001 }",
        "f.toml:4: the prices of input and of output are both needed; `output` is not set",
    ),
    (
        "[models.'openai:m']\nprices = { inputs = 1 }",
        "f.toml:5: unknown key `inputs` in `prices` in [models.\"openai:m\"]; the nearest known key is `input` (known: input, cached_input, cache_write_5m, cache_write_1h, output, reasoning, long_context)",
    ),
    (
        "[models.'openai:m'.prices]\ninput = 1\noutput = 1\nlong_context = { over = 9, input = 1 }",
        "f.toml:7: `long_context` in `prices` in [models.\"openai:m\"] needs `output`",
    ),
    (
        "[models.'openai:m']\nreturn_reasoning = 1",
        "f.toml:5: `return_reasoning` in [models.\"openai:m\"] must be `true` or `false`, not 1",
    ),
    (
        "[models.'openai:m']\nbase_url = 'host/v1'",
        "f.toml:5: `base_url` in [models.\"openai:m\"]: `host/v1` is no URL (relative URL without a base); write for example `https://host/v1`",
    ),
    (
        "[models.'openai:m']\nbase_url = 'ftp://host/v1'",
        "f.toml:5: `base_url` in [models.\"openai:m\"]: `ftp://host/v1` must begin with `http://` or `https://`",
    ),
    (
        "[models.'openai:m']\nbase_url = 'http://me:secret@host'",
        "f.toml:5: `base_url` in [models.\"openai:m\"]: a base URL must not hold credentials or `@`; put the key into a variable and name it with `api_key_env`",
    ),
    (
        "[models.'openai:m']\napi_key_env = 'sk-secret'",
        "f.toml:5: `api_key_env` in [models.\"openai:m\"]: this must be the name of an environment variable (A-Z a-z 0-9 _), not the key itself",
    ),
];

#[test]
fn every_bad_bound_is_named_with_its_line() {
    for (rest, message) in BAD_TABLES {
        assert_eq!(refused(&format!("{LEAD}{rest}")), *message, "{rest}");
    }
}
