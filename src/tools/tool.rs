//! One tool: what the model is told of it, and what runs it.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kinfolk_actors::call::{CallStatus, EffectClass};
use kinfolk_actors::family::{Offer, Placement, ToolSpec};
use kinfolk_actors::money::Money;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ports::tool::{Call, RunTool, ToolAnswer, ToolOutput};
use crate::tools::answer::Answer;

/// How long one call of a tool may take unless the tool says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A tool: a specification, a time limit and what runs it. Clones share what runs.
///
/// Nothing is checked here; a [`Toolbox`](crate::tools::toolbox::Toolbox) refuses tools whose name
/// or schema does not hold, so that a chain of builder calls needs no error handling.
///
/// ```
/// use kinfolk::ports::tool::Call;
/// use kinfolk::tools::tool::Tool;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct City {
///     /// The city's English name.
///     name: String,
/// }
///
/// let weather = Tool::function("weather", "Weather of a city today", |city: City, _: Call| async move {
///     if city.name.is_empty() { Err("name a city") } else { Ok(format!("{}: sunny", city.name)) }
/// })
/// .read_only();
/// assert_eq!(weather.name(), "weather");
/// ```
#[derive(Clone)]
pub struct Tool {
    spec: ToolSpec,
    timeout: Duration,
    runs: Arc<dyn RunTool>,
}

impl Tool {
    /// A tool that `runs` whatever `spec` tells the model.
    #[must_use]
    pub fn new(spec: ToolSpec, runs: impl RunTool) -> Self {
        Self { spec, timeout: DEFAULT_TIMEOUT, runs: Arc::new(runs) }
    }

    /// A tool from an async function. The schema of its arguments is derived from `A`, whose doc
    /// comments become descriptions; arguments that `A` refuses never reach the function. See
    /// [`Answer`] for what the function may return.
    ///
    /// It counts as [`changing`](Self::changing) until told otherwise.
    #[must_use]
    pub fn function<A, F, R>(name: &str, description: &str, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Call) -> R + Send + Sync + 'static,
        R: Future<Output: Answer> + Send + 'static,
    {
        let spec = ToolSpec {
            name: name.into(),
            description: description.into(),
            schema: schema_of::<A>().to_string().into(),
            effect: EffectClass::Changing,
            placement: Placement::Runtime,
            offer: Offer::Always,
            cost: None,
        };
        Self::new(spec, Function { function, arguments: PhantomData })
    }

    /// It changes nothing: it may run in parallel, again after a crash, and without approval.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.effect(EffectClass::ReadOnly)
    }

    /// It changes something, but once more with the same call id changes nothing more, so that it
    /// may run again after a crash.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.effect(EffectClass::Idempotent)
    }

    /// It changes something and never runs a second time for one call. The default.
    #[must_use]
    pub fn changing(self) -> Self {
        self.effect(EffectClass::Changing)
    }

    /// A tool that the host or a client runs, not the runtime: a call of it waits until its result
    /// is delivered, minutes or days later. `schema` is the JSON schema of its arguments.
    ///
    /// It counts as [`changing`](Self::changing) until told otherwise.
    #[must_use]
    pub fn of_client(name: &str, description: &str, schema: &Value) -> Self {
        let spec = ToolSpec {
            name: name.into(),
            description: description.into(),
            schema: schema.to_string().into(),
            effect: EffectClass::Changing,
            placement: Placement::Client,
            offer: Offer::Always,
            cost: None,
        };
        Self::new(spec, NotHere)
    }

    /// The host or a client runs it, not the runtime: a call of it waits until its result is
    /// delivered.
    #[must_use]
    pub fn client(mut self) -> Self {
        self.spec.placement = Placement::Client;
        self
    }

    /// Models are not told of it before it is activated in a run.
    #[must_use]
    pub fn held_back(mut self) -> Self {
        self.spec.offer = Offer::OnceActivated;
        self
    }

    /// What one call costs. It counts against the limits of money.
    #[must_use]
    pub fn cost(mut self, cost: Money) -> Self {
        self.spec.cost = Some(cost);
        self
    }

    /// How long one call may take, instead of [`DEFAULT_TIMEOUT`].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The name that calls use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// What the model is told of it.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// How long one call may take.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        self.timeout
    }

    /// Begins one call, without any of the care that a toolbox takes.
    pub(crate) fn run(&self, call: Call) -> BoxFuture<'static, ToolAnswer> {
        self.runs.run(call)
    }

    fn effect(mut self, effect: EffectClass) -> Self {
        self.spec.effect = effect;
        self
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spec, timeout, runs: _ } = self;
        f.debug_struct("Tool").field("spec", spec).field("timeout", timeout).finish_non_exhaustive()
    }
}

/// The JSON schema of `T`, with everything inlined that can be, and without `$schema` and the
/// type's name, which say nothing to a model.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("title");
        // A struct without fields derives no `properties`, which some providers insist on.
        if schema.get("type").is_some_and(|kind| kind == "object") {
            schema.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
        }
    }
    schema
}

/// Reads a call's arguments as `A`.
///
/// # Errors
/// The result for the model: the arguments fit the schema, but `A` refuses them.
pub(crate) fn arguments_of<A: DeserializeOwned>(call: &Call) -> Result<A, ToolOutput> {
    serde_json::from_value(Value::Object(call.arguments().clone())).map_err(|error| ToolOutput {
        status: CallStatus::Malformed,
        text: format!("the arguments do not fit: {error}").into(),
    })
}

/// Stands for a tool that others run. The kernel never dispatches it here.
struct NotHere;

impl RunTool for NotHere {
    fn run(&self, _: Call) -> BoxFuture<'static, ToolAnswer> {
        std::future::ready(ToolAnswer::later()).boxed()
    }
}

/// Runs a function as a tool.
struct Function<A, F> {
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F, R> RunTool for Function<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, Call) -> R + Send + Sync + 'static,
    R: Future<Output: Answer> + Send + 'static,
{
    fn run(&self, call: Call) -> BoxFuture<'static, ToolAnswer> {
        match arguments_of(&call) {
            Ok(arguments) => (self.function)(arguments, call).map(Answer::into_answer).boxed(),
            Err(refused) => std::future::ready(refused.into()).boxed(),
        }
    }
}
