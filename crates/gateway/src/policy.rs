//! `PolicyGrant`: what policies let a caller see and use. They are decided elsewhere; here is what the data plane
//! asks, and what it is told.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;

use trunkline_wire::{encode_all_into, encode_into};

/// What a caller wants to see or use. Servers by their keys, the rest as its server names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyTarget<'a> {
    /// The server as a whole: methods of it that Trunkline does not know.
    Server(&'a str),
    Tool {
        server: &'a str,
        tool: &'a str,
    },
    /// Also a template, by its URI template.
    Resource {
        server: &'a str,
        uri: &'a str,
    },
    Prompt {
        server: &'a str,
        prompt: &'a str,
    },
}

/// Policies, for one caller. Asked on the thread that moves bytes: nothing in it may wait.
pub trait PolicyGrant: Debug + Send + Sync {
    /// May it be seen? Otherwise it does not exist for the caller.
    fn shows(&self, what: PolicyTarget<'_>) -> bool;

    /// Is everything forbidden to the caller? Then it is not let in at all.
    fn shuts_out(&self) -> bool;

    /// May it be used, as far as that holds for every request until something changes?
    fn verdict(&self, what: PolicyTarget<'_>) -> PolicyVerdict;

    /// May it be used in this request?
    fn decide(
        &self,
        what: PolicyTarget<'_>,
        request: &RequestFacts<'_>,
    ) -> Result<(), Arc<PolicyRefusal>>;

    /// What decides about each call of this tool, as `decide` does, until policies or lists change. `None`: it would take
    /// too much memory for each tool.
    fn prepare(&self, server: &str, tool: &str) -> Option<Arc<dyn PreparedCall>>;
}

/// Policies, for the calls of one tool by one caller. As with `PolicyGrant`, nothing in it may wait.
pub trait PreparedCall: Debug + Send + Sync {
    /// May it be called with this request? `None`: the policies have changed, and `PolicyGrant::decide` knows.
    fn decide(&self, request: &RequestFacts<'_>) -> Option<Result<(), Arc<PolicyRefusal>>>;
}

/// What is true of one request only.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// The arguments as the client wrote them; empty: none.
    pub arguments: &'a [u8],
    /// Where the client is; `None`: in this process, or on this machine's standard input.
    pub address: Option<IpAddr>,
}

#[derive(Clone, Debug)]
pub enum PolicyVerdict {
    Allowed,
    Refused(Arc<PolicyRefusal>),
    /// Each request has to be decided.
    Depends,
}

/// Why a caller may not use what it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRefusal {
    /// The policies that forbid it; none: no policy permits it.
    pub policies: Vec<Arc<str>>,
    /// What their author has to say about it.
    pub reason: Option<Arc<str>>,
}

pub(crate) type SharedRefusal = Arc<PolicyRefusal>;

impl PolicyRefusal {
    /// Which policies, as the `data` of an error, so that a program can tell them apart.
    pub(crate) fn data(&self) -> Vec<u8> {
        let mut data = b"{\"policies\":".to_vec();
        encode_all_into(self.policies.iter().map(|id| &**id), &mut data);
        if let Some(reason) = &self.reason {
            data.extend_from_slice(b",\"reason\":");
            encode_into(reason, &mut data);
        }
        data.push(b'}');
        data
    }

    /// In words: `policy "x" forbids it: ask the owners`.
    pub fn words(&self) -> String {
        let names: Vec<_> = self.policies.iter().map(|id| format!("\"{}\"", clean(id))).collect();
        let reason = self.reason.as_ref().map(|reason| format!(": {}", clean(reason)));
        let reason = reason.unwrap_or_default();
        match names.as_slice() {
            [] => format!("no policy permits it{reason}"),
            [one] => format!("policy {one} forbids it{reason}"),
            several => format!("policies {} forbid it{reason}", several.join(", ")),
        }
    }
}

fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_who_forbids_and_why() {
        let refusal = |policies: &[&str], reason: Option<&str>| PolicyRefusal {
            policies: policies.iter().map(|id| (*id).into()).collect(),
            reason: reason.map(Into::into),
        };
        for (refusal, expected) in [
            (refusal(&[], None), "no policy permits it"),
            (refusal(&["a"], None), "policy \"a\" forbids it"),
            (refusal(&["a"], Some("ask\nme")), "policy \"a\" forbids it: ask me"),
            (refusal(&["a", "b"], None), "policies \"a\", \"b\" forbid it"),
        ] {
            assert_eq!(refusal.words(), expected);
        }
    }
}
