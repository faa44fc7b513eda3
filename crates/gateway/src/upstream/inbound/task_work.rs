//! What servers of revision 2025-11-25 can do with tasks.

use trunkline_wire::member;

/// A server declares `tasks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskWork {
    /// It knows `tasks/list`.
    pub(crate) lists: bool,
}

impl TaskWork {
    /// Reads the value of the capability.
    pub(in crate::upstream) fn read(said: &[u8]) -> Self {
        Self { lists: member(said, "list").is_some_and(|value| value.starts_with(b"{")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_lists_its_tasks_if_it_says_so() {
        for (said, lists) in [
            ("{}", false),
            (r#"{"list":{}}"#, true),
            (r#"{"list":null}"#, false),
            (r#"{"cancel":{},"requests":{"tools":{"call":{}}}}"#, false),
        ] {
            assert_eq!(TaskWork::read(said.as_bytes()).lists, lists, "{said}");
        }
    }
}
