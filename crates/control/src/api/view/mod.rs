//! What goes out: each struct is the declaration of its JSON, schema and example.

mod audit;
mod client;
mod details;
mod health;
mod key;
mod overview;
mod platform;
mod secret;
mod server;
mod skill;
mod status;
mod tools;

pub use audit::{AuditList, AuditView, OUTCOMES};
pub use client::{ClientList, ClientView, SettingsView, client_list};
pub use details::{DetailsView, NameView, OtherName, ProcessView, StderrView, stderr_view};
pub use health::{HealthReport, HealthView, ResponseTimes, SampleView, WindowView};
pub use key::{CreatedKey, KeyList, KeyView, MeView};
pub use overview::{ContextView, OverviewTimes, OverviewView, PieceView, ServerCounts};
pub use platform::{LIVE, PROBLEM, READY};
pub use secret::{SecretList, SecretUserView, SecretView};
pub use server::{
    AuthState, AuthView, Connecting, DefinedIn, Disconnected, LastError, LoginView, ServerList,
    ServerView, shown_config, shown_url,
};
pub(super) use skill::{ASSIGNED_SKILLS, IS_CLASSIFIED, SKILL_IDS, assigned_skills, rounded};
pub use skill::{
    SkillList, SkillView, SuggestionList, SuggestionView, ToolSkillsView, suggestion_view,
};
pub use status::{HealthStatus, Status};
pub use tools::{
    METADATA, ServerTools, TOOL_RESULT, ToolGroup, ToolList, ToolServer, ToolView, one_tool,
    server_tools, tool_list,
};

use serde_json::Value;

pub(in crate::api) const NEXT_CURSOR: &str =
    "To be given as `cursor` for the next page; null on the last one.";

/// One member more.
pub(crate) fn add(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value.into());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::api::fault::{Pointer, RequestFault};
    use crate::api::schema::{Schema, check};
    use trunkline_catalog::jsonc::{Dialect, HalfPairs, Options, parse};

    /// Fails unless the JSON fits the schema.
    #[track_caller]
    pub(crate) fn assert_fits(json: &str, schema: &Schema) {
        let options =
            Options { dialect: Dialect::Strict, half_pairs: HalfPairs::Refused, depth: 64 };
        let document = parse(json, options).expect("JSON");
        let mut faults: Vec<RequestFault> = Vec::new();
        check(&document.root, schema, &Pointer::root(), &mut faults);
        assert!(faults.is_empty(), "{faults:#?} in {json}");
    }
}
