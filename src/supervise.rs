//! Supervision on ractor: restart policy, generations that never overlap, stops in two phases.
//!
//! # Words
//!
//! * A [`Unit`](unit::Unit) is what restarts as one: a single actor, or a group such as a family.
//! * A [`Generation`](unit::Generation) is one life of a unit. The next one starts only after every
//!   actor and task of the one before is gone, however long that takes.
//! * A [`Scope`](scope::Scope) is the handle of one generation: it alone starts actors and tasks,
//!   and refuses once the generation is over.
//! * A [`Supervisor`](supervisor::Supervisor) holds units, restarts them by their policy, and is a
//!   unit itself, so supervisors nest. A [`Root`](supervisor::Root) is the one on top.
//! * A [`BoundedQueue`](queue::BoundedQueue) holds the commands of an actor and outlives it.
//!
//! # Example
//!
//! ```text
//! struct Family { commands: Arc<BoundedQueue<Command>> }
//!
//! impl Unit for Family {
//!     fn start(&self, generation: Generation, scope: Scope) -> BoxFuture<'_, Result<(), UnitFailure>> {
//!         Box::pin(async move {
//!             let lead = Lead { commands: Arc::clone(&self.commands), scope: scope.clone() };
//!             let lead = scope.spawn("lead", lead, ()).await?;     // an Err here is a failure
//!             self.commands.attach(move || drop(lead.cast(LeadMsg::Bell)));
//!             Ok(())
//!         })
//!     }
//!     fn ended(&self, _last: &UnitStatus) {
//!         for command in self.commands.close() { command.refuse(); }
//!     }
//! }
//!
//! // In the lead: one command at a time; the rest survives a panic in its handling.
//! async fn handle(&self, _me: ActorRef<LeadMsg>, _bell: LeadMsg, state: &mut State) -> … {
//!     let mut batch = self.commands.take(16);
//!     while let Some(command) = batch.next() { … }
//!     Ok(())
//! }
//! // A subagent on demand, a helper task, both of this generation:
//! self.scope.spawn("sub-1", Subagent, arguments).await?;
//! self.scope.spawn_task("upload", async move { upload().await.map_err(UnitFailure::new) })?;
//!
//! let root = Root::start(RestartPolicy::default(), StopOrder::Reverse);
//! let shard = Supervisor::new(StopOrder::Together);
//! root.supervisor().add("shard-0".into(), policy, Arc::new(shard.clone()))?;
//! let mut status = shard.add("trip-42".into(), policy, Arc::new(family))?;
//! status.wait_for(|status| matches!(status, UnitStatus::Running { .. })).await?;
//! shard.stop_unit(&"trip-42".into(), Duration::from_secs(5)).await;   // parked: nothing is left
//! root.shutdown(Duration::from_secs(10)).await;                       // all dead when it returns
//! ```
//!
//! # Rules for actors
//!
//! * Start actors and tasks through the scope only; what is started otherwise is not joined.
//! * A handler never waits for the stop of its own unit: it is waited for itself.
//! * A finished actor stops itself. What it casts to another actor before that arrives there before
//!   anything that [`exited`](unit::Unit::exited) casts.
//! * A failure of one actor ends the generation, unless it was started with
//!   [`spawn_alone`](scope::Scope::spawn_alone). Work on behalf of the generation checks
//!   [`Scope::is_over`](scope::Scope::is_over) before it acts.
//!
//! ractor stays hidden behind this module: its defaults stop a parent when a child ends, forget
//! grandchildren, and restart nothing. No actor has a global name, so runtimes can share a process.

mod driver;
mod life;
mod listener;
pub(crate) mod queue;
pub(crate) mod scope;
pub(crate) mod supervisor;
pub(crate) mod unit;

#[cfg(test)]
mod tests;
