//! stub
use futures::future::BoxFuture;
use kinfolk_actors::agent::RawReply;
use crate::ports::model::{ModelCall, ModelError, ModelProvider};
/// stub
#[derive(Clone, Copy, Debug, Default)]
pub struct Explorer;
impl ModelProvider for Explorer {
    fn call<'a>(&'a self, _call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        Box::pin(std::future::pending())
    }
}
