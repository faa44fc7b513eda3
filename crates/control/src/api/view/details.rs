//! One server in full.

use serde_json::{Value, json};

use super::overview::{HOUR, PIECES, PieceView, pieces};
use super::{MOMENT, moment_or_null};
use crate::api::shape::{Object, Shape, any_text, count, required};

#[derive(Debug)]
pub struct DetailsView<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub process: ProcessView,
    pub identity: Option<&'a str>,
    pub capabilities: &'a [&'a str],
    pub instructions: Option<&'a str>,
    pub stderr: &'a [String],
    pub names: &'a [NameView],
    pub series: &'a [PieceView],
    pub hour: &'a [PieceView],
}

/// What has become of the connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessView {
    pub state: Option<&'static str>,
    pub since: Option<i64>,
    pub pid: Option<u32>,
    pub started_in_ms: Option<u64>,
    pub restarts: u32,
    pub open_calls: usize,
    pub waiting_calls: usize,
    pub next_try: Option<i64>,
    pub failures: u32,
}

/// A tool and what it is listed as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameView {
    pub tool: String,
    pub name: String,
    /// Other names, and the kinds of clients that get them.
    pub others: Vec<(String, Vec<&'static str>)>,
}

impl DetailsView<'_> {
    pub fn json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "process": self.process.json(),
            "identity": self.identity,
            "capabilities": self.capabilities,
            "instructions": self.instructions,
            "stderr": self.stderr,
            "names": self.names.iter().map(NameView::json).collect::<Vec<_>>(),
            "series": pieces(self.series),
            "hour": pieces(self.hour),
        })
    }
}

impl ProcessView {
    fn json(&self) -> Value {
        json!({
            "state": self.state,
            "since": moment_or_null(self.since),
            "pid": self.pid,
            "started_in_ms": self.started_in_ms,
            "restarts": self.restarts,
            "open_calls": self.open_calls,
            "waiting_calls": self.waiting_calls,
            "next_try": moment_or_null(self.next_try),
            "failures": self.failures,
        })
    }
}

impl NameView {
    fn json(&self) -> Value {
        let other =
            |(name, clients): &(String, Vec<&str>)| json!({"name": name, "clients": clients});
        let others: Vec<_> = self.others.iter().map(other).collect();
        json!({"tool": self.tool, "name": self.name, "others": others})
    }
}

/// The body of `GET /aggregator/servers/{id}/stderr`.
pub fn stderr_view(id: &str, name: &str, state: Option<&str>, lines: &[String]) -> Value {
    json!({"id": id, "name": name, "state": state, "lines": lines})
}

pub static STDERR: Object = Object::answer(
    "ServerStderr",
    "What a command has written to its stderr.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), ""),
        required("state", Shape::OrNull(&any_text()), "What has become of its process."),
        required(
            "lines",
            Shape::List { of: &any_text(), most: usize::MAX },
            "The last of them, without secrets; of the process that runs, or of the last one.",
        ),
    ],
);

static PROCESS: Object = Object::answer(
    "Process",
    "What has become of the connection.",
    &[
        required("state", Shape::OrNull(&any_text()), ""),
        required("since", Shape::OrNull(&MOMENT), "Since when it has been in this state."),
        required("pid", Shape::OrNull(&count()), "Of a command that runs."),
        required("started_in_ms", Shape::OrNull(&count()), "Until its tools were known."),
        required("restarts", count(), ""),
        required("open_calls", count(), "Calls that are with it now."),
        required("waiting_calls", count(), "Calls that wait for it."),
        required("next_try", Shape::OrNull(&MOMENT), "If it has failed."),
        required("failures", count(), "In a row."),
    ],
);

static OTHER_NAME: Object = Object::answer(
    "OtherName",
    "A name that some clients get.",
    &[
        required("name", any_text(), ""),
        required("clients", Shape::List { of: &any_text(), most: usize::MAX }, ""),
    ],
);

static NAME: Object = Object::answer(
    "ToolNames",
    "A tool and what it is listed as.",
    &[
        required("tool", any_text(), "As its server calls it."),
        required("name", any_text(), "As clients get it that are not known."),
        required("others", Shape::List { of: &Shape::Object(&OTHER_NAME), most: usize::MAX }, ""),
    ],
);

pub static DETAILS: Object = Object::answer(
    "ServerDetails",
    "One server in full.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), ""),
        required("process", Shape::Object(&PROCESS), ""),
        required("identity", Shape::OrNull(&any_text()), "The name and version it gave itself."),
        required("capabilities", Shape::List { of: &any_text(), most: usize::MAX }, ""),
        required("instructions", Shape::OrNull(&any_text()), "How to use it, in its own words."),
        required(
            "stderr",
            Shape::List { of: &any_text(), most: usize::MAX },
            "What a command last wrote there before it failed; to operators.",
        ),
        required(
            "names",
            Shape::List { of: &Shape::Object(&NAME), most: usize::MAX },
            "Of 200 tools at most.",
        ),
        required(
            "series",
            PIECES,
            "The last five minutes in pieces of ten seconds, the oldest first.",
        ),
        HOUR,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn last_words_have_their_shape() {
        for (state, lines) in [(None, vec![]), (Some("running"), vec!["a".to_owned()])] {
            let shown = stderr_view("1", "s", state, &lines);
            assert_fits(&shown.to_string(), &Shape::Object(&STDERR));
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
            assert_fits(&view.json().to_string(), &Shape::Object(&DETAILS));
        }
    }
}
