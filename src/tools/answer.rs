//! What a function that serves as a tool may return.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::ports::tool::{ToolAnswer, ToolOutput};

/// The answer of a function that serves as a tool.
///
/// A function that can fail returns a `Result`: any serialisable value on success, any error that
/// can be displayed on failure. A function that cannot fail returns a text, a JSON value, nothing,
/// or its own type in [`Json`]. A text is given to the model as it is, everything else as JSON. A
/// function that sets the status itself returns a [`ToolOutput`], and one whose result comes later
/// a [`ToolAnswer`].
///
/// ```
/// use kinfolk::ports::tool::ToolOutput;
/// use kinfolk::tools::answer::{Answer, Json};
///
/// let parsed: Result<u8, _> = "7".parse::<u8>();
/// assert_eq!(parsed.into_answer(), ToolOutput::ok("7").into());
/// let refused = ToolOutput::error("invalid digit found in string");
/// assert_eq!("x".parse::<u8>().into_answer(), refused.into());
/// assert_eq!("sunny".into_answer(), ToolOutput::ok("sunny").into());
/// assert_eq!(Json(["a", "b"]).into_answer(), ToolOutput::ok(r#"["a","b"]"#).into());
/// ```
pub trait Answer {
    /// What the model gets.
    fn into_answer(self) -> ToolAnswer;
}

/// A serialisable value, given to the model as JSON (a text as it is).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> Answer for Json<T> {
    fn into_answer(self) -> ToolAnswer {
        serialised(&self.0).into()
    }
}

impl<T: Serialize, E: Display> Answer for Result<T, E> {
    fn into_answer(self) -> ToolAnswer {
        match self {
            Ok(value) => serialised(&value).into(),
            Err(error) => ToolOutput::error(error.to_string()).into(),
        }
    }
}

impl Answer for ToolAnswer {
    fn into_answer(self) -> ToolAnswer {
        self
    }
}

impl Answer for ToolOutput {
    fn into_answer(self) -> ToolAnswer {
        self.into()
    }
}

impl Answer for Value {
    fn into_answer(self) -> ToolAnswer {
        serialised(&self).into()
    }
}

impl Answer for () {
    fn into_answer(self) -> ToolAnswer {
        ToolOutput::ok("").into()
    }
}

impl Answer for String {
    fn into_answer(self) -> ToolAnswer {
        ToolOutput::ok(self).into()
    }
}

impl Answer for &'static str {
    fn into_answer(self) -> ToolAnswer {
        ToolOutput::ok(self).into()
    }
}

impl Answer for Cow<'static, str> {
    fn into_answer(self) -> ToolAnswer {
        ToolOutput::ok(self.as_ref()).into()
    }
}

impl Answer for Arc<str> {
    fn into_answer(self) -> ToolAnswer {
        ToolOutput::ok(self).into()
    }
}

/// A text as it is, other values as JSON; a value that cannot be written is the tool's failure.
fn serialised<T: Serialize>(value: &T) -> ToolOutput {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => ToolOutput::ok(text),
        Ok(value) => ToolOutput::ok(value.to_string()),
        Err(error) => ToolOutput::error(format!("the tool's answer is not valid JSON: {error}")),
    }
}
