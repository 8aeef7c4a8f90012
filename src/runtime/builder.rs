//! What a runtime is made of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinfolk_actors::family::ModelEndpoint;
use kinfolk_actors::supervision::RestartPolicy;
use parking_lot::Mutex;

use super::assemble::{Pricing, Registry};
use super::error::RuntimeError;
use super::node::Node;
use super::{Inner, Runtime};
use crate::family::activation::Services;
use crate::family::leases::Leases;
use crate::gateway::Gateway;
use crate::journal::Journal;
use crate::model::retry::RetryPolicy;
use crate::ports::audit::Audit;
use crate::ports::clock::{Clock, SystemClock};
use crate::ports::cost::CostFunction;
use crate::ports::executor::{Executor, ExecutorKind};
use crate::ports::model::ModelProvider;
use crate::ports::store::{Store, StoreError};
use crate::store::memory::MemoryStore;
use crate::store::sled::SledStore;
use crate::tools::tool::Tool;

/// Model requests that a runtime has in flight at once, unless told otherwise.
const MODEL_CONCURRENCY: usize = 256;

/// Describes a runtime. Default: a store in memory, no models, no tools.
#[must_use = "a runtime is started by `start`"]
pub struct RuntimeBuilder {
    store: Arc<dyn Store>,
    registry: Registry,
    clock: Arc<dyn Clock>,
    retries: RetryPolicy,
    model_concurrency: usize,
    audits: BTreeMap<Arc<str>, Arc<dyn Audit>>,
    executors: BTreeMap<ExecutorKind, Arc<dyn Executor>>,
    cost: Option<Arc<dyn CostFunction>>,
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        Self {
            store: Arc::new(MemoryStore::new()),
            registry: Registry::default(),
            clock: Arc::new(SystemClock),
            retries: RetryPolicy::default(),
            model_concurrency: MODEL_CONCURRENCY,
            audits: BTreeMap::new(),
            executors: BTreeMap::new(),
            cost: None,
        }
    }
}

impl RuntimeBuilder {
    /// Keeps everything in a directory, durable before it is acknowledged. The directory is created
    /// if it does not exist, belongs to this process until the runtime ends, and is invisible to
    /// the workspace tools.
    ///
    /// # Errors
    /// The directory cannot be used, is in use by another process, or was written by a newer version.
    pub fn sled(self, directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        let store = SledStore::open(directory.as_ref())?;
        Ok(self.hide(directory.as_ref()).store(store))
    }

    /// Keeps everything in memory; it is lost with the runtime.
    pub fn memory(self) -> Self {
        self.store(MemoryStore::new())
    }

    /// Keeps everything in a store of the host's own.
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Registers a model under its full name, `provider:name`. The first one is the default of
    /// families that name none. Names that are not registered are looked up in the built-in
    /// catalogue.
    pub fn model(mut self, name: &str, provider: impl ModelProvider) -> Self {
        let name: Arc<str> = name.into();
        self.registry.default_model.get_or_insert_with(|| Arc::clone(&name));
        self.registry.models.insert(name, Arc::new(provider));
        self
    }

    /// Registers a tool, so that runs whose family has it can be resumed by another process.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.registry.tools.push(tool);
        self
    }

    /// Makes a directory invisible to the workspace tools.
    pub fn hide(mut self, directory: impl Into<PathBuf>) -> Self {
        self.registry.hidden.push(directory.into());
        self
    }

    /// Reaches the models of leads another way than their frozen families say, where a field is set.
    /// What was frozen stays as it is.
    pub fn lead_endpoint(mut self, endpoint: ModelEndpoint) -> Self {
        self.registry.lead_endpoint = endpoint;
        self
    }

    /// Reads the time of day from here.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// How model requests are retried.
    pub fn retries(mut self, policy: RetryPolicy) -> Self {
        self.retries = policy;
        self
    }

    /// Model requests that may be in flight at once, over all families; at least 1.
    pub fn model_concurrency(mut self, requests: usize) -> Self {
        self.model_concurrency = requests.max(1);
        self
    }

    /// Registers a check that a policy names: an async function of a tool's name and its arguments
    /// as JSON text, which says whether a person has to approve the call.
    pub fn audit(mut self, name: &str, audit: impl Audit) -> Self {
        self.audits.insert(name.into(), Arc::new(audit));
        self
    }

    /// Has work of a kind done another way than the built-in one, for every agent whose family has
    /// no executor of its own for it ([`Family::executor`](crate::Family::executor)).
    pub fn executor(mut self, kind: ExecutorKind, executor: impl Executor) -> Self {
        self.executors.insert(kind, Arc::new(executor));
        self
    }

    /// Asks a function of the host's what requests cost, before the prices that are known of their
    /// models. A limit on money binds with what it says, once it is said: nothing can be reserved
    /// before at a price that only the function knows.
    pub fn cost(mut self, cost: impl CostFunction) -> Self {
        self.cost = Some(Arc::new(cost));
        self.registry.pricing = Pricing::Host;
        self
    }

    /// Starts the runtime on the current tokio runtime.
    ///
    /// # Errors
    /// Its supervisors did not come up.
    ///
    /// # Panics
    /// Never in itself; starting tasks outside of a tokio runtime panics in tokio.
    pub async fn start(self) -> Result<Runtime, RuntimeError> {
        let services = Arc::new(Services {
            journal: Journal::new(self.store),
            gateway: Gateway::new(self.model_concurrency),
            leases: Leases::default(),
            clock: self.clock,
            retries: self.retries,
            agent_restarts: RestartPolicy::default(),
            audits: self.audits,
            executors: self.executors,
            cost: self.cost,
        });
        let node = Node::start(&services)?;
        let slots = Mutex::default();
        Ok(Runtime { inner: Arc::new(Inner { services, registry: self.registry, node, slots }) })
    }
}
