//! What a client wants to hear of, as `subscriptions/listen` says it. Pure.

use std::collections::BTreeSet;

use trunkline_catalog::ListKind;
use trunkline_wire::{decode, elements, encode_all_into, encode_into, member};

use crate::call::TOO_MANY_SUBSCRIPTIONS;
use crate::error::CallError;
use crate::limits::{SUBSCRIBED_BYTES, SUBSCRIBED_URIS};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    /// As the client knows them, without their repetitions; `None`: it did not ask for any.
    pub(super) uris: Option<Vec<String>>,
}

impl Filter {
    /// Reads `params.notifications`. `capabilities`: what the client says it can do.
    pub(super) fn read(params: &[u8], capabilities: &[u8]) -> Result<Self, CallError> {
        let bad = |why: &str| CallError::InvalidParams(why.to_owned());
        let wanted = member(params, "notifications").filter(|wanted| wanted.starts_with(b"{"));
        let wanted = wanted.ok_or_else(|| bad("`notifications` has to be an object"))?;
        let flag = |key: &str| match member(wanted, key) {
            None | Some(b"false" | b"null") => Ok(false),
            Some(b"true") => Ok(true),
            Some(_) => Err(bad(&format!("`notifications.{key}` has to be true or false"))),
        };
        let of_tasks = member(wanted, "taskIds").is_some_and(|tasks| tasks != b"null");
        if of_tasks && !has_tasks(capabilities) {
            return Err(CallError::MissingCapability(vec![("extensions", Some(TASKS))]));
        }
        Ok(Self {
            tools: flag("toolsListChanged")?,
            prompts: flag("promptsListChanged")?,
            resources: flag("resourcesListChanged")?,
            uris: uris(member(wanted, "resourceSubscriptions").unwrap_or(b"null"))?,
        })
    }

    pub(super) fn wants(&self, kind: ListKind) -> bool {
        match kind {
            ListKind::Tools => self.tools,
            ListKind::Resources | ListKind::Templates => self.resources,
            ListKind::Prompts => self.prompts,
        }
    }

    /// What the URIs take.
    pub(super) fn bytes(&self) -> usize {
        self.uris.iter().flatten().map(String::len).sum()
    }

    /// The filter as it is told to the client that it holds.
    pub(super) fn written(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        for (key, _) in flags.iter().filter(|(_, wanted)| *wanted) {
            separate(&mut out);
            encode_into(key, &mut out);
            out.extend_from_slice(b":true");
        }
        if let Some(uris) = &self.uris {
            separate(&mut out);
            out.extend_from_slice(b"\"resourceSubscriptions\":");
            encode_all_into(uris.iter().map(|uri| &**uri), &mut out);
        }
        out.push(b'}');
        out
    }
}

/// The extension that tasks belong to since 2026-07-28.
const TASKS: &str = "io.modelcontextprotocol/tasks";

fn has_tasks(capabilities: &[u8]) -> bool {
    let extensions = member(capabilities, "extensions").unwrap_or_default();
    member(extensions, TASKS).is_some_and(|tasks| tasks.starts_with(b"{"))
}

fn separate(out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.push(b',');
    }
}

fn uris(list: &[u8]) -> Result<Option<Vec<String>>, CallError> {
    if list == b"null" {
        return Ok(None);
    }
    let bad = |why: String| CallError::InvalidParams(why);
    if !list.starts_with(b"[") {
        return Err(bad("`notifications.resourceSubscriptions` has to be an array".to_owned()));
    }
    let (mut seen, mut uris, mut bytes) = (BTreeSet::new(), Vec::new(), 0);
    for at in elements(list) {
        let uri = decode(at.of(list)).map(String::from).ok_or_else(|| {
            bad("`notifications.resourceSubscriptions` has to hold strings".to_owned())
        })?;
        if seen.insert(uri.clone()) {
            bytes += uri.len();
            uris.push(uri);
        }
        if uris.len() > SUBSCRIBED_URIS || bytes > SUBSCRIBED_BYTES {
            return Err(TOO_MANY_SUBSCRIPTIONS);
        }
    }
    Ok(Some(uris))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_told_back() {
        for (wanted, expected) in [
            ("{}", "{}"),
            (r#"{"toolsListChanged":true}"#, r#"{"toolsListChanged":true}"#),
            (
                r#"{"resourcesListChanged":true,"toolsListChanged":false,"promptsListChanged":null,"x":1}"#,
                r#"{"resourcesListChanged":true}"#,
            ),
            (
                r#"{"resourceSubscriptions":["a://x","b\u0020","a://x"],"promptsListChanged":true}"#,
                r#"{"promptsListChanged":true,"resourceSubscriptions":["a://x","b "]}"#,
            ),
            (r#"{"resourceSubscriptions":[]}"#, r#"{"resourceSubscriptions":[]}"#),
        ] {
            let params = format!(r#"{{"notifications":{wanted}}}"#);
            let written = Filter::read(params.as_bytes(), b"{}").unwrap().written();
            assert_eq!(String::from_utf8(written).unwrap(), expected, "{wanted}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let list =
            |uris: Vec<String>| format!("{{\"resourceSubscriptions\":[{}]}}", uris.join(","));
        let many = list((0..=SUBSCRIBED_URIS).map(|n| format!("\"a://{n}\"")).collect());
        let long =
            list((0..=8).map(|n| format!("\"{n}{}\"", "x".repeat(SUBSCRIBED_BYTES / 8))).collect());
        for (wanted, code) in [
            ("5", -32602),
            (r#"{"toolsListChanged":1}"#, -32602),
            (r#"{"resourceSubscriptions":"a://x"}"#, -32602),
            (r#"{"resourceSubscriptions":[1]}"#, -32602),
            (&many, -31015),
            (&long, -31015),
        ] {
            let params = format!(r#"{{"notifications":{wanted}}}"#);
            let refused = Filter::read(params.as_bytes(), b"{}").unwrap_err();
            assert_eq!(refused.code(), code);
        }
        assert!(Filter::read(b"{}", b"{}").is_err());
    }

    #[test]
    fn tasks_are_for_those_who_know_them() {
        let wanted = br#"{"notifications":{"taskIds":["t"]}}"#;
        for (capabilities, expected) in [
            ("{}", Some(-32021)),
            (r#"{"extensions":{}}"#, Some(-32021)),
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, None),
        ] {
            let refused = Filter::read(wanted, capabilities.as_bytes()).err();
            assert_eq!(refused.map(|error| error.code()), expected, "{capabilities}");
        }
    }

    #[test]
    fn lists_are_told_apart() {
        let filter = br#"{"notifications":{"resourcesListChanged":true}}"#;
        let filter = Filter::read(filter, b"{}").unwrap();
        assert!(filter.wants(ListKind::Resources) && filter.wants(ListKind::Templates));
        assert!(!filter.wants(ListKind::Tools) && !filter.wants(ListKind::Prompts));
    }
}
