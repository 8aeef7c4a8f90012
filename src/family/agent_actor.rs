//! The ractor actor around an agent's shell. It adds nothing to the loop: a bell rings, it steps.

use kinfolk_actors::agent::{AgentMachine, AgentState, Command, Member, Recovered};
use kinfolk_actors::id::AgentId;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::activation::Living;
use super::world::AgentWorld;
use crate::shell::{Flow, Shell};
use crate::supervise::scope::SpawnRefused;
use crate::supervise::unit::{Tag, UnitFailure};

/// An agent that is about to be put to work.
pub(crate) struct AgentStart {
    pub member: Member,
    pub state: AgentState,
    /// The first command of its shell.
    pub recovered: Recovered,
}

/// What an agent's actor is told.
pub(crate) enum AgentMessage {
    /// Commands are waiting.
    Bell,
    #[cfg(test)]
    Panic,
}

/// The actor.
struct AgentActor;

/// What the actor is started with.
struct Arguments {
    living: Living,
    start: AgentStart,
}

/// Puts an agent to work and waits until its actor is there.
///
/// # Errors
/// The generation is over.
pub(crate) async fn spawn_agent(living: &Living, start: AgentStart) -> Result<(), SpawnRefused> {
    let tag = tag_of(&start.member);
    let arguments = Arguments { living: living.clone(), start };
    living.scope.spawn(tag, AgentActor, arguments).await.map(drop)
}

fn tag_of(member: &Member) -> Tag {
    match member {
        Member::Lead => AgentId::LEAD.into(),
        Member::Subagent(started) => started.subagent.into(),
    }
}

/// Has the family put an agent to work.
pub(crate) fn adopt_agent(living: &Living, start: AgentStart) {
    let this = living.clone();
    adopt(living, tag_of(&start.member), async move { spawn_agent(&this, start).await });
}

/// Starting an actor has to be awaited, and a step never waits: the family's effects own the wait.
/// Somebody counts on the actor, so one that fails to start ends the generation like one that dies.
pub(crate) fn adopt(
    living: &Living,
    tag: Tag,
    spawn: impl Future<Output = Result<(), SpawnRefused>> + Send + 'static,
) {
    let scope = living.scope.clone();
    living.family.effects.adopt(async move {
        let Err(error) = spawn.await else { return };
        tracing::debug!(%error, "an actor was not started");
        // Refused if the generation is over: whoever ended it starts the next one or reports.
        drop(scope.spawn_task(tag, async move { Err(UnitFailure::from(error)) }));
    });
}

impl Actor for AgentActor {
    type Msg = AgentMessage;
    type State = Shell<AgentMachine, AgentWorld>;
    type Arguments = Arguments;

    async fn pre_start(
        &self,
        myself: ActorRef<AgentMessage>,
        arguments: Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let Arguments { living, start } = arguments;
        let AgentStart { member, state, recovered } = start;
        let machine = living.family.machine(member.clone());
        let seat = living.family.seat(machine.id());
        #[cfg(test)]
        living.family.actors.lock().insert(machine.id(), myself.clone());
        let bell = myself.clone();
        // A bell to an actor that has ended finds nobody; its successor rings itself.
        seat.attach(move || drop(bell.cast(AgentMessage::Bell)));
        myself.cast(AgentMessage::Bell)?;
        let generation = living.generation;
        let world = AgentWorld::new(living, &member);
        let first = Command::Recovered(recovered);
        Ok(Shell::new((machine, state), world, generation, seat, first))
    }

    async fn handle(
        &self,
        myself: ActorRef<AgentMessage>,
        message: AgentMessage,
        shell: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            AgentMessage::Bell => {}
            #[cfg(test)]
            AgentMessage::Panic => panic!("the agent panics on request"),
        }
        match shell.step().await? {
            Flow::Continue => {}
            Flow::Stop => myself.stop(None),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<AgentMessage>,
        _event: SupervisionEvent,
        _shell: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // Its subagents are linked to the family's supervisor, not to it.
        Ok(())
    }
}
