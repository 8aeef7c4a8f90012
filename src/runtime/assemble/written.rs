//! From a family as a host wrote it down to the one that is frozen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{
    ASK_PARENT, CALL_SUBAGENT, Delivery, Family as FrozenFamily, Invocation, ModelEndpoint, Role,
    SubagentSpec, TASK_RETURN, ToolSpec,
};
use kinfolk_actors::profile::ModelProfile;

use super::{FamilyError, Registry, unknown_tool};
use crate::definition::{Subagent, Written};
use crate::settings::agent_tools::{AGENT_TOOLS, agent_tool, is_agent_tool, needs_subagents};
use crate::tools::toolbox::ToolboxError;
use crate::tools::workspace::Workspace;

impl Registry {
    /// Turns what a host wrote into what is frozen.
    pub(super) fn freeze(&self, written: &Written) -> Result<FrozenFamily, FamilyError> {
        let model = written.model.clone().or_else(|| self.default_model.clone());
        let model = model.ok_or(FamilyError::NoModel)?;
        let mut tools: Vec<ToolSpec> =
            written.tools.iter().map(|tool| tool.spec().clone()).collect();
        if let Some(directory) = &written.workspace {
            let more = self.workspace_tools(directory)?;
            tools.extend(more.iter().map(|tool| tool.spec().clone()));
        }
        check_distinct(&written.subagents)?;
        let own = agent_tools(&written.subagents);
        check_tools(tools.iter().chain(&own))?;
        let known = Known { tools: &tools, own: &own, model: &model };
        let subagent = |one: &Subagent| known.subagent(one);
        let subagents: Vec<SubagentSpec> =
            written.subagents.iter().map(subagent).collect::<Result<_, _>>()?;
        let lead = Invocation {
            prompt: Arc::clone(&written.prompt),
            model: Arc::clone(&model),
            tools: tools.iter().chain(&known.of_lead(written)?).cloned().collect(),
            tool_choice: written.tool_choice,
            limits: written.lead_limits,
        };
        let mut family = FrozenFamily {
            lead,
            subagents,
            caps: written.caps,
            limits: written.limits,
            on_limit: written.on_limit,
            child_budget: written.child_budget,
            policy: written.policy.clone(),
            approval_timeout: written.approval_timeout,
            compaction: written.compaction.clone(),
            commands: BTreeMap::new(),
            models: BTreeMap::new(),
            workspace: written.workspace.as_deref().map(canonical).transpose()?,
        };
        family.models = models(&family, written)?;
        Ok(family)
    }
}

/// What is known of each model of a family, as it is now.
fn models(
    family: &FrozenFamily,
    written: &Written,
) -> Result<BTreeMap<String, ModelEndpoint>, FamilyError> {
    let used = family.invocations().map(|invocation| &invocation.model);
    let endpoint = |model: &Arc<str>| {
        let known = ModelProfile::of(model);
        let profile = match written.profiles.get(&**model) {
            Some(set) => set.over(known).map_err(|error| FamilyError::Model {
                model: Arc::clone(model),
                detail: format!("the profile of {model} cannot be used: {error}"),
            })?,
            None => known,
        };
        Ok((model.to_string(), ModelEndpoint { profile, ..ModelEndpoint::default() }))
    };
    used.chain(&family.compaction.model).map(endpoint).collect()
}

/// The tools for subagents and people that such a family can have.
fn agent_tools(subagents: &[Subagent]) -> Vec<ToolSpec> {
    let told = subagents.iter().filter(|one| !one.internal);
    let names: Vec<&str> = told.map(|one| &*one.name).collect();
    let possible = |name: &&str| !subagents.is_empty() || !needs_subagents(name);
    AGENT_TOOLS.into_iter().filter(possible).filter_map(|name| agent_tool(name, &names)).collect()
}

/// What an agent is resolved against.
struct Known<'a> {
    tools: &'a [ToolSpec],
    own: &'a [ToolSpec],
    model: &'a Arc<str>,
}

impl Known<'_> {
    /// The lead's tools for subagents and people.
    fn of_lead(&self, written: &Written) -> Result<Vec<ToolSpec>, FamilyError> {
        let default = || self.own.iter().filter(|spec| &*spec.name == CALL_SUBAGENT);
        let Some(names) = &written.agent_tools else { return Ok(default().cloned().collect()) };
        let usable = |spec: &&ToolSpec| !matches!(&*spec.name, ASK_PARENT | TASK_RETURN);
        let find = |name: &Arc<str>| {
            let spec = self.own.iter().filter(usable).find(|spec| spec.name == *name);
            let known = self.own.iter().filter(usable).map(|spec| &spec.name);
            spec.cloned().ok_or_else(|| unknown_tool("lead", name, known))
        };
        names.iter().map(find).collect()
    }

    fn subagent(&self, subagent: &Subagent) -> Result<SubagentSpec, FamilyError> {
        let allowed = |spec: &ToolSpec| match subagent.role {
            Role::Explore => spec.effect == EffectClass::ReadOnly || is_agent_tool(&spec.name),
            Role::Task => true,
        };
        let mut tools: Vec<ToolSpec> = match &subagent.tools {
            None => self.tools.iter().filter(|spec| allowed(spec)).cloned().collect(),
            Some(names) => {
                let find = |name: &Arc<str>| {
                    let mut all = self.tools.iter().chain(self.own);
                    let spec = all.find(|spec| spec.name == *name);
                    let known = self.tools.iter().map(|spec| &spec.name);
                    spec.ok_or_else(|| unknown_tool(&subagent.name, name, known)).cloned()
                };
                names.iter().map(find).collect::<Result<_, _>>()?
            }
        };
        if let Some(spec) = tools.iter().find(|spec| !allowed(spec)) {
            let (agent, tool) = (Arc::clone(&subagent.name), Arc::clone(&spec.name));
            return Err(FamilyError::ChangingTool { agent, tool });
        }
        let returns = |spec: &&ToolSpec| &*spec.name == TASK_RETURN;
        if subagent.delivery == Delivery::Return && !tools.iter().any(|spec| returns(&spec)) {
            tools.extend(self.own.iter().find(returns).cloned());
        }
        Ok(SubagentSpec {
            name: Arc::clone(&subagent.name),
            description: Arc::clone(&subagent.description),
            role: subagent.role,
            invocation: Invocation {
                prompt: subagent.prompt_text(),
                model: subagent.model.clone().unwrap_or_else(|| Arc::clone(self.model)),
                tools: tools.into(),
                tool_choice: subagent.tool_choice,
                limits: subagent.limits,
            },
            delivery: subagent.delivery,
            placement: subagent.placement,
            internal: subagent.internal,
        })
    }
}

/// One name for each directory, whatever links lead to it: the workspace's lease goes by it.
fn canonical(directory: &Path) -> Result<String, FamilyError> {
    let path = Workspace::open(directory)?.root().to_owned();
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(FamilyError::WorkspaceName(path)),
    }
}

/// The names that a model is told have to be distinct, the built-in ones among them.
fn check_tools<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> Result<(), FamilyError> {
    let mut seen = BTreeSet::new();
    for spec in specs {
        if !seen.insert(&spec.name) {
            return Err(ToolboxError::Duplicate { name: Arc::clone(&spec.name) }.into());
        }
    }
    Ok(())
}

/// The same rule as in a family file.
fn is_subagent_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let reserved = matches!(name, "lead" | "all") || name.starts_with("sub-");
    (1..=64).contains(&name.len()) && name.chars().all(allowed) && !reserved
}

fn check_distinct(subagents: &[Subagent]) -> Result<(), FamilyError> {
    if let Some(one) = subagents.iter().find(|one| !is_subagent_name(&one.name)) {
        return Err(FamilyError::SubagentName(Arc::clone(&one.name)));
    }
    let mut seen = BTreeSet::new();
    match subagents.iter().find(|one| !seen.insert(&one.name)) {
        Some(twice) => Err(FamilyError::DuplicateSubagent(Arc::clone(&twice.name))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
