//! What a person can say to a run that rests at a limit.

use std::path::Path;

use kinfolk::output::asks::quoted;
use kinfolk::ports::store::{Store, StoreError};
use kinfolk_actors::event::{Event, RunInterrupted};
use kinfolk_actors::id::RunId;
use kinfolk_actors::limits::{LimitKind, Limits};
use kinfolk_actors::money::Money;

/// How an interrupted run goes on: the command, with the flag of the limit that was hit.
pub(super) async fn advice(
    store: &dyn Store,
    data: &Path,
    run: RunId,
    why: &RunInterrupted,
) -> Result<String, StoreError> {
    let data = quoted(data);
    let raised = match why.limit {
        Some(limit) => {
            let most = limits(store, run).await?.get(limit);
            format!(" --{} {}", limit.flag(), twice(limit, most))
        }
        None => String::new(),
    };
    let command = format!("kinfolk resume --data {data} {run}{raised}");
    Ok(match why.limit {
        Some(limit) => format!(
            "the run rests: the limit of {} is reached; go on with a higher one, for example \
             `{command}`",
            limit.words()
        ),
        None => format!("the run rests; go on with `{command}`"),
    })
}

/// The limits of the family as they stand.
async fn limits(store: &dyn Store, run: RunId) -> Result<Limits, StoreError> {
    /// Records that are read at a time.
    const PAGE: usize = 1024;
    let mut limits = Limits::none();
    let Some(summary) = store.run(run).await? else { return Ok(limits) };
    let mut from = summary.first;
    loop {
        let records = store.read(&summary.session, from, PAGE).await?;
        let Some(last) = records.last() else { return Ok(limits) };
        from = last.end();
        for event in records.iter().flat_map(|record| &record.events) {
            let raised = match event {
                Event::RunStarted(started) => Some(started.limits.limits),
                Event::RunResumed(resumed) => resumed.raised,
                Event::ApprovalSettled(settled) => settled.raised,
                _ => None,
            };
            limits = raised.unwrap_or_default().or(limits);
        }
    }
}

/// Twice a limit, as its flag takes it. Twice suffices for as much work as there was. The limit of
/// one agent alone is not the family's, so no number is known for it.
fn twice(limit: LimitKind, most: Option<u64>) -> String {
    let Some(most) = most.map(|most| most.saturating_mul(2)) else { return "N".to_owned() };
    match limit {
        LimitKind::Steps | LimitKind::ToolCalls | LimitKind::Tokens => most.to_string(),
        LimitKind::Cost => Money::from_pico(most).to_string(),
        LimitKind::Time => format!("{}s", most.div_ceil(1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_a_limit_is_written_as_its_flag_takes_it() {
        let table = [
            (LimitKind::Steps, Some(2), "4"),
            (LimitKind::ToolCalls, Some(3), "6"),
            (LimitKind::Tokens, Some(1_000), "2000"),
            (LimitKind::Cost, Some(Money::from_dollars(1).pico() / 4), "0.5"),
            (LimitKind::Time, Some(1_250), "3s"),
            (LimitKind::Cost, None, "N"),
        ];
        for (limit, most, flag) in table {
            assert_eq!(twice(limit, most), flag, "{limit:?}");
        }
    }
}
