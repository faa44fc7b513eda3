//! What servers of revision 2025-11-25 can do with tasks, and what can be done with them through us.

use trunkline_wire::member;

/// What a server can do with tasks, as revision 2025-11-25 says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskWork {
    /// Its tools may be called as tasks.
    pub(crate) calls: bool,
    pub(crate) cancels: bool,
    pub(crate) lists: bool,
}

impl TaskWork {
    pub(super) fn read(said: &[u8]) -> Self {
        let is_object = |value: &[u8]| value.starts_with(b"{");
        let has = |name| member(said, name).is_some_and(is_object);
        let tools = member(said, "requests").and_then(|requests| member(requests, "tools"));
        let calls = tools.and_then(|tools| member(tools, "call")).is_some_and(is_object);
        Self { calls, cancels: has("cancel"), lists: has("list") }
    }

    /// What can be done through us with those of all these servers. A list says nothing of the server
    /// it is wanted of: it is for one that is alone.
    pub(crate) fn of_all(servers: &[Option<Self>]) -> Option<Self> {
        let mut with_tasks = servers.iter().flatten().filter(|work| work.calls).copied();
        let first = with_tasks.next()?;
        let all =
            with_tasks.fold(first, |all, one| Self { cancels: all.cancels && one.cancels, ..all });
        Some(Self { lists: all.lists && servers.len() == 1, ..all })
    }

    /// As a member of our capabilities.
    pub(crate) fn written(self) -> &'static str {
        match (self.cancels, self.lists) {
            (true, true) => r#""tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#,
            (true, false) => r#""tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}"#,
            (false, true) => r#""tasks":{"list":{},"requests":{"tools":{"call":{}}}}"#,
            (false, false) => r#""tasks":{"requests":{"tools":{"call":{}}}}"#,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_can_be_done() {
        const CALLS: &str = r#"{"requests":{"tools":{"call":{}}}}"#;
        const ALL: &str = r#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;
        const CANCELS: &str = r#"{"cancel":{},"requests":{"tools":{"call":{}}}}"#;
        for (servers, expected) in [
            (&[][..], None),
            (&[None], None),
            (&[Some("{}")], None),
            (&[Some(r#"{"list":{},"requests":{"sampling":{}}}"#)], None),
            (&[Some(CALLS)], Some(CALLS)),
            (&[Some(ALL)], Some(ALL)),
            // Nothing says of which server a list is wanted.
            (&[Some(ALL), None], Some(CANCELS)),
            (&[None, Some(ALL), Some(ALL)], Some(CANCELS)),
            (&[Some(ALL), Some(CALLS)], Some(CALLS)),
            (&[Some(ALL), Some("{}")], Some(CANCELS)),
        ] {
            let servers: Vec<_> = servers
                .iter()
                .map(|said| said.map(|said| TaskWork::read(said.as_bytes())))
                .collect();
            let written = TaskWork::of_all(&servers).map(TaskWork::written);
            let expected = expected.map(|expected| format!("\"tasks\":{expected}"));
            assert_eq!(written.map(str::to_owned), expected, "{servers:?}");
        }
    }
}
