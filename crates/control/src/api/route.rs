//! What one route is: where, who may, what goes in, what comes out, what can go wrong.

use super::problem::Kind;
use super::schema::Schema;
use crate::access::Action;

/// A route cannot be written down without saying who may use it.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub operation: Operation,
    pub method: Method,
    /// `{name}` stands for one segment.
    pub path: &'static str,
    pub access: Access,
    pub tag: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    pub body: Option<Body>,
    pub answers: &'static [Answer],
    /// What can go wrong besides what every route of its kind can (`Route::problems`).
    pub problems: &'static [Kind],
}

impl Route {
    /// The action of its audit records, whether it was done or refused; none if it changes nothing.
    pub fn audit_action(&self) -> Option<&'static str> {
        let own = match self.operation {
            Operation::CallTool | Operation::SearchTools => return None,
            Operation::ConnectServer => Some("connect-server"),
            Operation::DisconnectServer => Some("disconnect-server"),
            Operation::CreateKey => Some("create-key"),
            Operation::RevokeKey => Some("revoke-key"),
            Operation::PutSecret => Some("put-secret"),
            Operation::DeleteSecret => Some("delete-secret"),
            Operation::Skills(of) => of.audit_action(),
            _ => None,
        };
        match self.access {
            _ if self.method == Method::Get => None,
            Access::Needs(action) => Some(own.unwrap_or(action.name())),
            Access::Open => None,
        }
    }
}

impl SkillOperation {
    fn audit_action(self) -> Option<&'static str> {
        match self {
            Self::PutSkill => Some("put-skill"),
            Self::DeleteSkill => Some("delete-skill"),
            Self::ApproveSuggestion => Some("approve-skill"),
            Self::RejectSuggestion => Some("reject-skill"),
            Self::SetToolSkills => Some("set-tool-skills"),
            Self::ClearToolSkills => Some("clear-tool-skills"),
            Self::ClassifyTool => Some("classify-tool"),
            Self::ListSkills | Self::ListSuggestions | Self::GetToolSkills => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Whoever reaches the port.
    Open,
    Needs(Action),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// Who answers: the handlers are one `match` on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    RegisterServer,
    ListServers,
    GetServer,
    PatchServer,
    DeleteServer,
    ConnectServer,
    DisconnectServer,
    LoginServer,
    LogoutServer,
    GetServerHealth,
    GetServerStderr,
    ListServerTools,
    ListTools,
    GetTool,
    CallTool,
    SearchTools,
    Skills(SkillOperation),
    ListAudit,
    StreamEvents,
    CreateKey,
    ListKeys,
    RevokeKey,
    ListSecrets,
    PutSecret,
    DeleteSecret,
    GetMe,
    GetOverview,
    GetServerDetails,
    ListClients,
    GetSettings,
    GetOpenApi,
    GetDocs,
    GetDocsStyle,
    GetMetrics,
    GetLiveness,
    GetReadiness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkillOperation {
    ListSkills,
    PutSkill,
    DeleteSkill,
    ListSuggestions,
    ApproveSuggestion,
    RejectSuggestion,
    GetToolSkills,
    SetToolSkills,
    ClearToolSkills,
    ClassifyTool,
}

#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub schema: Schema,
    pub doc: &'static str,
}

/// Those in the path are required, the others are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    Header,
}

/// JSON that goes in.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    pub schema: Schema,
    /// In bytes.
    pub most: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub status: u16,
    pub doc: &'static str,
    pub content: Content,
    pub headers: &'static [Header],
}

#[derive(Debug, Clone, Copy)]
pub enum Content {
    Nothing,
    Json(Schema),
    /// Anything else, by its media type.
    Text(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub struct Header {
    pub name: &'static str,
    pub doc: &'static str,
}

impl Route {
    /// Everything that can go wrong, each kind once, in the order of the statuses.
    pub fn problems(&self) -> Vec<Kind> {
        let mut kinds = self.problems.to_vec();
        if let Access::Needs(_) = self.access {
            kinds.extend([Kind::Unauthenticated, Kind::Forbidden, Kind::TooMany, Kind::Internal]);
            // A query that is not known is refused everywhere.
            kinds.push(Kind::Invalid);
        }
        if self.body.is_some() {
            kinds.extend([Kind::Malformed, Kind::TooLarge, Kind::WrongMediaType]);
        }
        Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect()
    }

    pub fn parameters_in(&self, place: Place) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(move |parameter| parameter.place == place)
    }
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

impl Operation {
    /// What generated clients call it.
    pub fn id(self) -> &'static str {
        match self {
            Self::RegisterServer => "registerServer",
            Self::ListServers => "listServers",
            Self::GetServer => "getServer",
            Self::PatchServer => "patchServer",
            Self::DeleteServer => "deleteServer",
            Self::ConnectServer => "connectServer",
            Self::DisconnectServer => "disconnectServer",
            Self::LoginServer => "loginServer",
            Self::LogoutServer => "logoutServer",
            Self::GetServerHealth => "getServerHealth",
            Self::GetServerStderr => "getServerStderr",
            Self::ListServerTools => "listServerTools",
            Self::ListTools => "listTools",
            Self::GetTool => "getTool",
            Self::CallTool => "callTool",
            Self::SearchTools => "searchTools",
            Self::Skills(SkillOperation::ListSkills) => "listSkills",
            Self::Skills(SkillOperation::PutSkill) => "putSkill",
            Self::Skills(SkillOperation::DeleteSkill) => "deleteSkill",
            Self::Skills(SkillOperation::ListSuggestions) => "listSuggestions",
            Self::Skills(SkillOperation::ApproveSuggestion) => "approveSuggestion",
            Self::Skills(SkillOperation::RejectSuggestion) => "rejectSuggestion",
            Self::Skills(SkillOperation::GetToolSkills) => "getToolSkills",
            Self::Skills(SkillOperation::SetToolSkills) => "setToolSkills",
            Self::Skills(SkillOperation::ClearToolSkills) => "clearToolSkills",
            Self::Skills(SkillOperation::ClassifyTool) => "classifyTool",
            Self::ListAudit => "listAudit",
            Self::StreamEvents => "streamEvents",
            Self::CreateKey => "createKey",
            Self::ListKeys => "listKeys",
            Self::RevokeKey => "revokeKey",
            Self::ListSecrets => "listSecrets",
            Self::PutSecret => "putSecret",
            Self::DeleteSecret => "deleteSecret",
            Self::GetMe => "getMe",
            Self::GetOverview => "getOverview",
            Self::GetServerDetails => "getServerDetails",
            Self::ListClients => "listClients",
            Self::GetSettings => "getSettings",
            Self::GetOpenApi => "getOpenApi",
            Self::GetDocs => "getDocs",
            Self::GetDocsStyle => "getDocsStyle",
            Self::GetMetrics => "getMetrics",
            Self::GetLiveness => "getLiveness",
            Self::GetReadiness => "getReadiness",
        }
    }
}
