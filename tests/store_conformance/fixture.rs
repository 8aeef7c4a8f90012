//! Short words for records, appends and runs.

use std::sync::Arc;

use kinfolk::ports::store::{Append, Claim, Epoch, Record, Store, StoreError};
use kinfolk_actors::event::{
    Event, FinishReason, Message, Outcome, RunFinished, RunKind, RunStarted, Source, UserMessage,
};
use kinfolk_actors::family::{FamilyHash, FamilyLimits};
use kinfolk_actors::id::{AgentId, Attempt, Offset, RunId, SessionId};
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

pub fn session(name: &str) -> SessionId {
    name.parse().unwrap()
}

pub fn run(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

pub fn text(text: &str) -> Event {
    Event::Message(Message::User(UserMessage::new(Source::Input, text)))
}

pub fn started() -> Event {
    Event::RunStarted(RunStarted {
        input: "hello".into(),
        model: "scripted:m".into(),
        limits: FamilyLimits::default(),
        kind: RunKind::Request,
        family: FamilyHash([7; 32]),
        parent_run: None,
    })
}

pub fn finished() -> Event {
    Event::RunFinished(RunFinished {
        outcome: Outcome::Completed,
        finish_reason: FinishReason::Completed,
        text: "done".into(),
        error: None,
        usage: Usage::default(),
        cost_usd: None,
        detail: None,
        agents: Vec::new(),
        duration_ms: Millis(1),
    })
}

/// An append of the owner `claim` at its head, of run 1 at time 1,000.
pub fn append(name: &str, claim: Claim, events: Vec<Event>) -> Append {
    append_of(name, claim, run(1), 1_000, events)
}

pub fn append_of(name: &str, claim: Claim, run: RunId, at: u64, events: Vec<Event>) -> Append {
    let record = Record {
        session: session(name),
        run,
        attempt: Attempt(1),
        agent: AgentId::LEAD,
        at: Timestamp(at),
        first: claim.head,
        events,
    };
    Append { epoch: claim.epoch, record: Arc::new(record), family: None }
}

pub fn texts(words: &[&str]) -> Vec<Event> {
    words.iter().map(|word| text(word)).collect()
}

/// Commits events one after the other as records of their own, and moves the claim's head on.
pub async fn extend(store: &dyn Store, name: &str, claim: &mut Claim, records: &[&[&str]]) {
    for words in records {
        let append = append(name, *claim, texts(words));
        claim.head = append.record.end();
        assert_eq!(store.commit(vec![append]).await, [Ok(())]);
    }
}

/// The whole stream of a session.
pub async fn all(store: &dyn Store, name: &str) -> Vec<Record> {
    let records = store.read(&session(name), Offset(0), usize::MAX).await.unwrap();
    records.iter().map(|record| record.as_ref().clone()).collect()
}

pub fn fenced(name: &str, epoch: u64, head: u64) -> Result<(), StoreError> {
    let (epoch, head) = (Epoch(epoch), Offset(head));
    Err(StoreError::Fenced { session: session(name), epoch, head })
}
