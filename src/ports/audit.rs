//! The port to the host's own checks of calls: whether a person has to see one before it runs.

use std::future::Future;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

/// A check by the host. The policy names it; see
/// [`RuntimeBuilder::audit`](crate::RuntimeBuilder::audit).
pub trait Audit: Send + Sync + 'static {
    /// Whether a person has to approve this call. A check that panics counts as yes: it must not be
    /// a way around itself. May be dropped at any await, and asked again.
    fn intervenes(&self, tool: Arc<str>, arguments: Arc<str>) -> BoxFuture<'static, bool>;
}

/// Any async function of the tool's name and its arguments as JSON text is a check.
impl<F, R> Audit for F
where
    F: Fn(Arc<str>, Arc<str>) -> R + Send + Sync + 'static,
    R: Future<Output = bool> + Send + 'static,
{
    fn intervenes(&self, tool: Arc<str>, arguments: Arc<str>) -> BoxFuture<'static, bool> {
        self(tool, arguments).boxed()
    }
}
