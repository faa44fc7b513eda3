//! What goes out: the platform's things as JSON, each beside the shape that describes it.

mod audit;
mod client;
mod details;
mod health;
mod key;
mod overview;
mod platform;
mod search;
mod secret;
mod server;
mod skill;
mod status;
mod tools;

pub use audit::{AUDIT_LIST, AUDIT_RECORD, AuditView, OUTCOMES};
pub use client::{CLIENT_LIST, ClientView, SETTINGS, client_list};
pub use details::{DETAILS, DetailsView, NameView, ProcessView, STDERR, stderr_view};
pub use health::{HEALTH, HEALTH_REPORT, HealthReport, HealthView, SampleView, WindowView};
pub use key::{CREATED_KEY, KEY, KEY_LIST, KeyView, ME, MeView};
pub use overview::{ContextView, OVERVIEW, OverviewView, PieceView};
pub use platform::{LIVE, PROBLEM, READY};
pub use search::{FOUND_LIST, FoundView, rounded};
pub use secret::{SECRET, SECRET_LIST, SecretView};
pub use server::{
    AuthView, CONNECTING, DISCONNECTED, LOGIN, LastError, SERVER, SERVER_LIST, ServerView, Source,
    connected, connecting, disconnected, server_list, shown_config, shown_url,
};
pub use skill::{
    SKILL, SKILL_LIST, SUGGESTION, SUGGESTION_LIST, SkillView, TOOL_SKILLS, ToolSkillsView,
    skill_members, suggestion_view,
};
pub use status::{HealthStatus, Status};
pub use tools::{
    METADATA, SERVER_TOOLS, TOOL, TOOL_LIST, TOOL_RESULT, ToolGroup, ToolView, one_tool,
    server_tools, tool_list,
};

use super::shape::{Form, Shape, text};
use super::time;
use serde_json::Value;

/// A moment that we write.
const MOMENT: Shape = text(20, 24, Form::Time);
const NEXT_CURSOR: &str = "To be given as `cursor` for the next page; null on the last one.";

fn moment(millis: i64) -> Value {
    time::format(millis).into()
}

fn moment_or_null(millis: Option<i64>) -> Value {
    millis.map_or(Value::Null, moment)
}

/// One member more.
pub(crate) fn add(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value.into());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::api::fault::{Fault, Pointer};
    use crate::api::shape::{Shape, check};
    use trunkline_catalog::jsonc::{Dialect, HalfPairs, Options, parse};

    /// Fails unless the JSON has the shape.
    #[track_caller]
    pub(crate) fn assert_fits(json: &str, shape: &Shape) {
        let options =
            Options { dialect: Dialect::Strict, half_pairs: HalfPairs::Refused, depth: 64 };
        let document = parse(json, options).expect("JSON");
        let mut faults: Vec<Fault> = Vec::new();
        check(&document.root, shape, &Pointer::root(), &mut faults);
        assert!(faults.is_empty(), "{faults:#?} in {json}");
    }
}
