//! Each agent of a family file with its tools resolved.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{
    ASK_PARENT, Delivery, Invocation, Placement, Role, SubagentSpec, TASK_RETURN, ToolChoice,
    ToolChoicePlan, ToolSpec,
};

use super::Host;
use crate::output::plain;
use crate::settings::agent_tools::{
    AGENT_TOOLS, agent_tool, is_agent_tool, needs_subagents, starts_subagents,
};
use crate::settings::error::{SettingsError, Told};
use crate::settings::family_file::{AgentTable, FamilyFile, SubagentTable, ToolTable};

/// The lead's name for people.
const LEAD: &str = "lead";

/// What every agent of the family is resolved against.
pub(super) struct Freeze<'a> {
    file: &'a FamilyFile,
    host: &'a Host<'a>,
    pub(super) lead_model: Told<Arc<str>>,
    /// The tools of the host and the file by name.
    tools: HashMap<&'a str, ToolSpec>,
    /// Whether no subagent may change anything.
    every_explorer: bool,
}

impl<'a> Freeze<'a> {
    pub(super) fn new(
        file: &'a FamilyFile,
        host: &'a Host<'a>,
        lead_model: Told<Arc<str>>,
    ) -> Self {
        let own = file.tools.iter().map(|tool| (tool.name.value.as_str(), command_tool(tool)));
        let built_in = host.tools.iter().map(|spec| (&*spec.name, spec.clone()));
        let names: Vec<&str> =
            file.subagents.iter().map(|table| table.name.value.as_str()).collect();
        let agent_tools = AGENT_TOOLS.iter().filter(|name| {
            // Without subagents there is nobody to start, wait for or tell.
            !names.is_empty() || !needs_subagents(name)
        });
        // They name all subagents, so that each is made once.
        let agent_tools = agent_tools.filter_map(|name| Some((*name, agent_tool(name, &names)?)));
        Self {
            file,
            host,
            lead_model,
            tools: own.chain(built_in).chain(agent_tools).collect(),
            every_explorer: file.subagents.iter().all(|table| table.role == Role::Explore),
        }
    }

    pub(super) fn subagent(
        &self,
        table: &SubagentTable,
        model: &Told<Arc<str>>,
    ) -> Result<SubagentSpec, SettingsError> {
        let mut invocation = self.invocation(&table.name.value, &table.agent, model)?;
        self.add_return(table, &mut invocation)?;
        if table.role == Role::Explore {
            self.check_explorer(table, &invocation)?;
        }
        Ok(SubagentSpec {
            name: table.name.value.as_str().into(),
            description: table.description.as_str().into(),
            role: table.role,
            invocation,
            delivery: table.delivery,
            placement: Placement::Runtime,
            internal: false,
        })
    }

    pub(super) fn invocation(
        &self,
        agent: &str,
        table: &AgentTable,
        model: &Told<Arc<str>>,
    ) -> Result<Invocation, SettingsError> {
        let mut tools: Vec<ToolSpec> = Vec::new();
        let mut seen = HashSet::new();
        for name in &table.tools {
            if !seen.insert(name.value.as_str()) {
                return Err(name.error(format!("`{agent}` has the tool `{}` twice", name.value)));
            }
            tools.push(self.tool(agent, name)?);
        }
        let choice = table.tool_choice.as_ref();
        if let Some(choice) = choice.filter(|choice| tools.is_empty() && requires(choice.value)) {
            let problem = format!("`{agent}` must call a tool and has none; give it `tools`");
            return Err(choice.error(problem));
        }
        Ok(Invocation {
            prompt: table.prompt.value.as_str().into(),
            model: Arc::clone(&model.value),
            tools: tools.into(),
            tool_choice: choice.map(|choice| choice.value).unwrap_or_default(),
            limits: table.limits,
        })
    }

    /// Who has to end by `task_return` has that tool; nobody else may.
    fn add_return(
        &self,
        table: &SubagentTable,
        invocation: &mut Invocation,
    ) -> Result<(), SettingsError> {
        let named = table.agent.tools.iter().find(|told| told.value == TASK_RETURN);
        match (table.delivery, named) {
            (Delivery::Answer, Some(told)) => {
                let problem = format!(
                    "`{}` has the tool `{TASK_RETURN}` and ends by an answer; \
                     set `delivery = \"return\"` or take it away",
                    table.name.value
                );
                Err(told.error(problem))
            }
            (Delivery::Return, None) => {
                let tools = invocation.tools.iter().cloned();
                let own = self.tools.get(TASK_RETURN).cloned();
                invocation.tools = tools.chain(own).collect();
                Ok(())
            }
            (Delivery::Answer, None) | (Delivery::Return, Some(_)) => Ok(()),
        }
    }

    fn tool(&self, agent: &str, name: &Told<String>) -> Result<ToolSpec, SettingsError> {
        let wanted = name.value.as_str();
        if agent == LEAD && matches!(wanted, ASK_PARENT | TASK_RETURN) {
            let problem = format!("the lead has no parent; `{wanted}` is for subagents");
            return Err(name.error(problem));
        }
        if needs_subagents(wanted) && self.file.subagents.is_empty() {
            let problem =
                format!("`{agent}` has the tool `{wanted}` and the family has no [[subagents]]");
            return Err(name.error(problem));
        }
        let spec = self.tools.get(wanted).cloned();
        spec.ok_or_else(|| name.error(self.unknown_tool(agent, wanted)))
    }

    fn unknown_tool(&self, agent: &str, wanted: &str) -> String {
        let built_in = self.host.tools.iter().map(|tool| &*tool.name);
        let own = self.file.tools.iter().map(|tool| tool.name.value.as_str());
        let known: Vec<&str> = built_in.chain(AGENT_TOOLS).chain(own).collect();
        let wanted = plain::line(wanted, 80);
        format!("there is no tool `{wanted}` for `{agent}`; the tools are: {}", known.join(", "))
    }

    /// An explorer changes nothing, and starts nobody who could.
    fn check_explorer(
        &self,
        table: &SubagentTable,
        invocation: &Invocation,
    ) -> Result<(), SettingsError> {
        let name = &table.name.value;
        let allowed = |tool: &str, effect| match (is_agent_tool(tool), starts_subagents(tool)) {
            (true, true) => self.every_explorer,
            (true, false) => true,
            (false, _) => effect == EffectClass::ReadOnly,
        };
        let refused = invocation.tools.iter().find(|tool| !allowed(&tool.name, tool.effect));
        let Some(tool) = refused.map(|tool| &*tool.name) else { return Ok(()) };
        let why = if starts_subagents(tool) {
            "could start a subagent that changes things"
        } else {
            "is not read-only"
        };
        let problem = format!(
            "`{name}` has the role `explore` and its tool `{tool}` {why}; \
             take it away or use `role = \"task\"`"
        );
        let told = table.agent.tools.iter().find(|told| told.value == tool);
        Err(told.unwrap_or(&table.name).error(problem))
    }
}

fn requires(plan: ToolChoicePlan) -> bool {
    plan.first == ToolChoice::Required || plan.then == ToolChoice::Required
}

fn command_tool(table: &ToolTable) -> ToolSpec {
    ToolSpec {
        name: table.name.value.as_str().into(),
        description: table.description.as_str().into(),
        schema: table.schema.as_str().into(),
        effect: table.effect,
        placement: Placement::Runtime,
        offer: table.offer,
        cost: table.cost,
    }
}
