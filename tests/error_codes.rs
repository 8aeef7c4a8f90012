//! `docs/errors.md` lists every code as it is; `KINFOLK_BLESS=1` writes it anew.

use std::fmt::Write;
use std::path::Path;

use kinfolk::actors::agent::RefusalCode;
use kinfolk::actors::failure::{Attribution, ErrorCode};

const HEAD: &str = "\
# Error codes

Every failure of a run, a model request or a write carries a stable code, who has to act, and
whether the same request may succeed later without a change. Programs branch on the code, never on
the message. A code of a newer version reads as it was written and counts as `harness`.

| code | who has to act | retry can help | what it means | what to do |
| --- | --- | --- | --- | --- |
";

const REFUSALS: &str = "
## Refusals

A command that a run does not take changes nothing and is answered with one of these, in
`Refusal::code()` and as `refusal` on the control socket.

| code | who has to act | retry can help | what it means |
| --- | --- | --- | --- |
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for code in ErrorCode::ALL {
        let who = who(code.attribution());
        let retry = if code.retryable() { "yes" } else { "no" };
        let (meaning, advice) = (code.meaning(), code.advice());
        writeln!(page, "| `{}` | {who} | {retry} | {meaning} | {advice} |", code.as_str()).unwrap();
    }
    page.push_str(REFUSALS);
    for code in RefusalCode::ALL {
        let retry = if code.retryable() { "yes" } else { "no" };
        let (who, meaning) = (who(code.attribution()), code.meaning());
        writeln!(page, "| `{}` | {who} | {retry} | {meaning} |", code.as_str()).unwrap();
    }
    page
}

fn who(attribution: Attribution) -> &'static str {
    match attribution {
        Attribution::User => "user",
        Attribution::Provider => "provider",
        Attribution::Harness => "harness",
        Attribution::System => "system",
    }
}

#[test]
fn the_page_of_codes_is_the_list_of_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md");
    if std::env::var_os("KINFOLK_BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page(), "run it with KINFOLK_BLESS=1 and read the difference");
}
