//! One server in full.

use serde_json::Value;

use super::overview::{HOUR_DOC, PieceView};
use crate::api::schema::{Moment, answer};

answer! {
    /// One server in full.
    pub struct DetailsView<'a> as "ServerDetails" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub id: &'a str,
        #[example = "github-mcp"] pub name: &'a str,
        pub process: ProcessView,
        /// The name and version it gave itself.
        #[example = "github 1.4.0"] pub identity: Option<&'a str>,
        #[example = ["tools"]] pub capabilities: &'a [&'a str],
        /// How to use it, in its own words.
        pub instructions: Option<&'a str>,
        /// What a command last wrote there before it failed; to operators.
        #[example = []] pub stderr: &'a [String],
        /// Of 200 tools at most.
        pub names: &'a [NameView],
        /// The last five minutes in pieces of ten seconds, the oldest first.
        pub series: &'a [PieceView],
        #[doc = HOUR_DOC]
        pub hour: &'a [PieceView],
    }
}

answer! {
    /// What has become of the connection.
    #[derive(Default)]
    pub struct ProcessView as "Process" {
        #[example = "running"] pub state: Option<&'static str>,
        /// Since when it has been in this state.
        #[example = "2025-01-08T10:00:00Z"] pub since: Option<i64> as Moment,
        /// Of a command that runs.
        pub pid: Option<u32>,
        /// Until its tools were known.
        #[example = 412] pub started_in_ms: Option<u64>,
        pub restarts: u32,
        /// Calls that are with it now.
        pub open_calls: usize,
        /// Calls that wait for it.
        pub waiting_calls: usize,
        /// Calls that were refused because of its limits or its tools', since the start of this process.
        pub limited_calls: u64,
        /// If it has failed.
        pub next_try: Option<i64> as Moment,
        /// In a row.
        pub failures: u32,
    }
}

answer! {
    /// A tool and what it is listed as.
    pub struct NameView as "ToolNames" {
        /// As its server calls it.
        #[example = "create_issue"] pub tool: String,
        /// As clients get it that are not known.
        #[example = "github-mcp.create_issue"] pub name: String,
        #[hidden] pub others: Vec<(String, Vec<&'static str>)>,
        others: Vec<OtherName<'_>> = |it| other_names(&it.others),
    }
}

answer! {
    /// A name that some clients get.
    pub struct OtherName<'a> as "OtherName" {
        #[example = "github-mcp_create_issue"] pub name: &'a str,
        #[example = ["cursor"]] pub clients: &'a [&'static str],
    }
}

fn other_names<'a>(others: &'a [(String, Vec<&'static str>)]) -> Vec<OtherName<'a>> {
    others.iter().map(|(name, clients)| OtherName { name, clients }).collect()
}

answer! {
    /// What a command has written to its stderr.
    pub struct StderrView<'a> as "ServerStderr" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub id: &'a str,
        #[example = "github-mcp"] pub name: &'a str,
        /// What has become of its process.
        #[example = "running"] pub state: Option<&'a str>,
        /// The last of them, without secrets; of the process that runs, or of the last one.
        #[example = ["listening for requests"]] pub lines: &'a [String],
    }
}

/// The body of `GET /aggregator/servers/{id}/stderr`.
pub fn stderr_view(id: &str, name: &str, state: Option<&str>, lines: &[String]) -> Value {
    StderrView { id, name, state, lines }.json()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn last_words_have_their_shape() {
        for (state, lines) in [(None, vec![]), (Some("running"), vec!["a".to_owned()])] {
            let shown = StderrView { id: "1", name: "s", state, lines: &lines };
            assert_fits(&shown.json().to_string(), &StderrView::SCHEMA);
        }
    }

    #[test]
    fn details_have_their_shape() {
        let names = [NameView {
            tool: "a".to_owned(),
            name: "s.a".to_owned(),
            others: vec![("s_a".to_owned(), vec!["cursor", "codex"])],
        }];
        for process in [
            ProcessView::default(),
            ProcessView {
                state: Some("running"),
                since: Some(0),
                pid: Some(1),
                ..Default::default()
            },
        ] {
            let view = DetailsView {
                id: "1",
                name: "s",
                process,
                identity: None,
                capabilities: &["tools"],
                instructions: Some("x"),
                stderr: &["oops".to_owned()],
                names: &names,
                series: &[],
                hour: &[],
            };
            assert_fits(&view.json().to_string(), &DetailsView::SCHEMA);
        }
    }
}
