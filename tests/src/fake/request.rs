//! A message from the client and the parts a script refers to, as written.

use serde_json::Value;

use super::outlet::Outlet;
use crate::scan;

#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) line: Vec<u8>,
    /// Empty for a notification.
    pub(super) id: Vec<u8>,
    /// Empty for an answer.
    pub(super) method: String,
    pub(super) params: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) uri: Vec<u8>,
    pub(super) arguments: Vec<u8>,
    pub(super) token: Vec<u8>,
    /// Empty over stdio, and where sessions are not used.
    pub(super) session: String,
    /// Where its answer goes.
    pub(super) outlet: Outlet,
    /// Is it answered in the stateless era?
    pub(super) modern: bool,
}

impl Request {
    pub(super) fn read(line: Vec<u8>) -> Self {
        // Each level is read once: arguments may be long.
        let outer = scan::members(&line).unwrap_or_default();
        let part = |key| scan::named(&outer, key).unwrap_or_default();
        let inner = scan::members(part("params")).unwrap_or_default();
        let param = |key| scan::named(&inner, key).unwrap_or_default();
        Self {
            id: part("id").to_vec(),
            method: scan::text(part("method")).unwrap_or_default(),
            params: part("params").to_vec(),
            name: param("name").to_vec(),
            arguments: param("arguments").to_vec(),
            uri: param("uri").to_vec(),
            token: scan::get(param("_meta"), "progressToken").unwrap_or_default().to_vec(),
            line: line.clone(),
            session: String::new(),
            outlet: Outlet::default(),
            modern: false,
        }
    }

    /// The steps of this round, where a behaviour has rounds.
    pub(super) fn round<'a>(&self, steps: &'a Value) -> &'a Value {
        let Some(rounds) = steps.get("rounds").and_then(Value::as_array) else { return steps };
        let state = scan::get(&self.params, "requestState").and_then(scan::text);
        let number = match state {
            Some(state) => state.split(':').next().and_then(|number| number.parse().ok()),
            None => scan::get(&self.params, "inputResponses").map(|_| 1),
        };
        rounds.get(number.unwrap_or(0_usize)).or(rounds.last()).unwrap_or(steps)
    }

    /// A number of the arguments.
    pub(super) fn number(&self, key: &str) -> usize {
        let raw = scan::get(&self.arguments, key).unwrap_or(b"0");
        String::from_utf8_lossy(raw).parse().unwrap_or(0)
    }
}
