//! Whole tool calls out of fragments, for all the ways in which servers number them.
//!
//! The rule: a fragment goes to the call of its index; where the index is missing, shifted or
//! used twice, ids, names and the completeness of the arguments decide; where two calls remain
//! possible it is an error, never a guess.

use kinfolk_actors::agent::RawCall;
use kinfolk_actors::text::head;

use super::MAX_NAME;
use super::chunk::{Fragment, some};
use super::whole::Whole;

/// A fragment that belongs to no call, or to more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FragmentError {
    /// It continues a call that never began.
    #[error("a fragment of a tool call came before its call")]
    Orphan,
    /// More than one call could be meant.
    #[error("a fragment of a tool call has no id and could belong to more than one call")]
    Ambiguous,
    /// The stream ended and a call has no name.
    #[error("a tool call has no name")]
    Nameless,
}

/// The calls of one reply so far, in the order in which they began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls(Vec<OpenCall>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OpenCall {
    index: Option<u32>,
    id: String,
    name: String,
    arguments: String,
    whole: Whole,
}

impl OpenCall {
    /// Whether the arguments are a whole JSON value, so that nothing more is expected.
    fn is_whole(&self) -> bool {
        self.whole.is_whole()
    }

    fn append(&mut self, arguments: &str) {
        let before = self.arguments.len();
        self.arguments.push_str(arguments);
        self.whole.take(&self.arguments, before);
    }
}

/// Where a fragment goes.
enum Place {
    Begin,
    Continue(usize),
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes one fragment. Returns the call's name if this fragment made it known.
    pub fn take(&mut self, fragment: &Fragment<'_>) -> Result<Option<&str>, FragmentError> {
        let function = fragment.function.as_ref();
        let id = some(fragment.id.as_ref());
        let name = some(function.and_then(|function| function.name.as_ref()))
            .map(|name| head(name, MAX_NAME));
        let arguments = some(function.and_then(|function| function.arguments.as_ref()));
        let at = match self.place(fragment.index, id, name)? {
            Place::Begin => {
                self.0.push(OpenCall { index: fragment.index, ..OpenCall::default() });
                self.0.len() - 1
            }
            Place::Continue(at) => at,
        };
        let call = &mut self.0[at];
        if let (true, Some(id)) = (call.id.is_empty(), id) {
            call.id = id.to_owned();
        }
        call.append(arguments.unwrap_or_default());
        match name {
            Some(name) if call.name.is_empty() => {
                call.name = name.to_owned();
                Ok(Some(&call.name))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// The calls, once the stream is over. Arguments stay as the model wrote them, whole or not.
    pub fn finish(self) -> Result<Vec<RawCall>, FragmentError> {
        let whole = |call: OpenCall| match call.name.is_empty() {
            true => Err(FragmentError::Nameless),
            false => Ok(RawCall {
                provider_id: call.id.into(),
                name: call.name.into(),
                arguments: call.arguments.into(),
            }),
        };
        self.0.into_iter().map(whole).collect()
    }

    fn place(
        &self,
        index: Option<u32>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Result<Place, FragmentError> {
        let same_index: Vec<usize> = self.indices(|call| index.is_some() && call.index == index);
        if let Some(id) = id {
            return Ok(self.place_by_id(&same_index, index, id, name));
        }
        match (index, name) {
            (Some(_), Some(name)) => Ok(self.place_named(&same_index, name)),
            (None, Some(name)) => {
                let open: Vec<usize> = self.indices(|call| !call.is_whole() && call.name == name);
                match open.as_slice() {
                    [one] if !self.0[*one].arguments.is_empty() => Ok(Place::Continue(*one)),
                    _ => Ok(Place::Begin),
                }
            }
            (_, None) if !same_index.is_empty() => self.only_open(&same_index),
            (_, None) => self.only_open(&self.indices(|_| true)),
        }
    }

    /// A fragment with an id: the call of that id under that index, or a new one. An index that
    /// comes again with another id is a new call; an id that comes again under another index is
    /// the same call only if it has no name.
    fn place_by_id(
        &self,
        same_index: &[usize],
        index: Option<u32>,
        id: &str,
        name: Option<&str>,
    ) -> Place {
        let known = same_index.iter().copied().rfind(|at| self.0[*at].id == id);
        if let Some(at) = known {
            return Place::Continue(at);
        }
        if let [at] = same_index
            && self.0[*at].id.is_empty()
            && (name.is_none() || self.0[*at].arguments.is_empty())
        {
            return Place::Continue(*at);
        }
        let elsewhere = self.0.iter().rposition(|call| call.id == id);
        match elsewhere {
            Some(at) if name.is_none() => Place::Continue(at),
            Some(at) if index.is_none() && !self.0[at].is_whole() => Place::Continue(at),
            Some(_) | None => Place::Begin,
        }
    }

    /// A fragment with an index and a name but no id: servers without ids repeat the name in each
    /// fragment, or give one index to every call.
    fn place_named(&self, same_index: &[usize], name: &str) -> Place {
        match same_index.last().map(|at| (*at, &self.0[*at])) {
            Some((at, call)) if call.name.is_empty() => Place::Continue(at),
            Some((at, call)) if call.name == name && !call.is_whole() => Place::Continue(at),
            Some(_) | None => Place::Begin,
        }
    }

    /// Of the calls that a fragment could continue, the only one, or the only unfinished one.
    fn only_open(&self, candidates: &[usize]) -> Result<Place, FragmentError> {
        match candidates {
            [] => Err(FragmentError::Orphan),
            [one] => Ok(Place::Continue(*one)),
            several => {
                let mut open = several.iter().copied().filter(|at| !self.0[*at].is_whole());
                match (open.next(), open.next()) {
                    (Some(one), None) => Ok(Place::Continue(one)),
                    (Some(_), Some(_)) | (None, _) => Err(FragmentError::Ambiguous),
                }
            }
        }
    }

    fn indices(&self, wanted: impl Fn(&OpenCall) -> bool) -> Vec<usize> {
        (0..self.0.len()).filter(|at| wanted(&self.0[*at])).collect()
    }
}
