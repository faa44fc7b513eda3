//! The services of a running `serve`: what REST and the dashboard ask for, in domain types. No JSON, no HTTP.
//!
//! What is wanted is in the store and in the config file (`directory`); `reconcile` applies it, `monitor`
//! follows what becomes of it. `ControlPlane` wires the services.

mod activity;
mod background;
mod backup;
mod boot;
mod connections;
mod control_plane;
mod directory;
mod events;
mod gate;
mod grants;
mod ids;
mod live;
mod logins;
mod maintain;
mod monitor;
mod overview;
mod page;
mod people;
mod policies;
mod policy_trial;
mod problems;
mod recall;
mod reconcile;
mod records;
mod reviews;
mod secrets;
mod servers;
mod settings;
mod skills;
mod store_lock;
mod tools;
mod web_sessions;

pub use crate::llm::Opinion;
pub use activity::ClientService;
pub(crate) use activity::ClientSummary;
pub use background::Background;
pub use backup::{BackupError, BackupInfo, back_up, check_backup, restore_backup};
pub use boot::{BootError, StartedControlPlane};
pub use connections::with_logins;
pub use control_plane::ControlPlane;
pub(crate) use directory::{ServerEntry, ServerOrigin};
pub use events::{EventBus, NumberedEvent, ServerEvent};
pub use gate::KeyGate;
pub(crate) use gate::TOO_MANY_WRONG;
pub(crate) use grants::sees;
pub use grants::unnamed_grant;
pub(crate) use live::Diagnosis;
pub(crate) use logins::{
    CALLBACK, CLIENT_NAME, CameBack, ConsentQuestion, DOCUMENT, StartedLogin, browser_proof,
};
pub use logins::{LoggedIn, LoginService};
pub use maintain::{
    AuditSpan, ChangeKeyError, SecretsError, StoreSecrets, audit_checkpoint, change_key,
    export_audit, verify_audit,
};
pub use overview::OverviewService;
pub(crate) use overview::{ListSize, Overview};
pub use page::{Page, Paged};
pub use people::PeopleService;
pub use policies::PolicyService;
pub(crate) use policies::{PolicyOrigin, PolicyText};
pub(crate) use policy_trial::{PolicyDraft, PolicyTrial, TriedDecision};
pub use problems::store_problem;
pub use reviews::ReviewService;
pub(crate) use reviews::{ServerReview, WaitingReview};
pub(crate) use secrets::SecretSummary;
pub use secrets::{RemovalRule, SecretNotRemoved, SecretService, SecretWrite};
pub use servers::ServerService;
pub(crate) use servers::{
    HealthHistory, ListedName, LoginState, NewServer, Precondition, ProcessInfo, ServerDetails,
    ServerEdit, ServerReport, StderrLines,
};
pub use settings::{
    AuditSettings, DEFAULT_LIMITS, ProgramSearch, RegistrationRules, ReplicaSettings, Settings,
    StdioRegistration, StorageSettings, TokenSettings, VariableLookup,
};
pub use skills::{SkillService, SuggestionDecision};
pub(crate) use skills::{SkillSummary, ToolSkills};
pub use store_lock::StoreInUse;
pub(crate) use tools::{
    EmbeddingStatus, FoundToolInfo, KeyedCallClaim, ListedTool, SearchReport, ToolGroup, ToolPage,
    ToolSearch, server_error,
};
pub use tools::{ToolCallRequest, ToolService};
pub use web_sessions::{KeptSession, SessionAges, WebSessions};
