//! What the operator has decided.

mod command;

use std::fmt::{self, Debug};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trunkline_catalog::config::{LimitRules, SandboxProfile};
use trunkline_gateway::ConnectedClients;
use trunkline_http::Url;
use trunkline_http::reach::Policy;
use trunkline_store::StoreUrl;

use crate::access::{CertificateRoles, WithoutToken};
use crate::audit::{AuditExport, AuditFull, AuditKeep};
use crate::embed::Embeddings;
use crate::issuer::Trusted;
use crate::llm::{Llm, SecondOpinions};
use crate::people::PeopleSettings;
use crate::policies::PolicyHolder;
use crate::secrets::{AllowedVariables, KeySource};
use crate::trace::Tracer;

pub use command::ProgramSearch;

/// Calls of a server that is disconnected have so long to end (US6-AC3).
pub(super) const DISCONNECT_GRACE: Duration = Duration::from_secs(30);

/// What a platform's callers may have unless the operator says otherwise. A person, and an agent of a person, makes
/// some calls a second and has some open; a program that works through a list makes hundreds at once and then waits.
/// A loop makes thousands a second and never stops: it is held to the pace of a busy program.
pub const DEFAULT_LIMITS: LimitRules = LimitRules {
    calls_per_second: Some(50_000),
    burst: Some(500),
    open_calls: Some(128),
    result_bytes_per_minute: None,
    sessions: None,
    // More than its sessions: each may have a stream open and ask something besides.
    connections: Some(2_000),
    subscriptions: None,
};

/// Everything the control plane is given by the command line.
#[derive(Debug, Clone)]
pub struct Settings {
    pub storage: StorageSettings,
    pub tokens: TokenSettings,
    pub registration: RegistrationRules,
    /// Where it listens.
    pub listen: SocketAddr,
    pub replicas: ReplicaSettings,
    /// The clients that are connected there.
    pub connected_clients: ConnectedClients,
    /// How browsers and authorization servers reach this, without a slash at the end.
    pub public_url: Option<String>,
    pub audit: AuditSettings,
    /// Between two health checks of a server.
    pub health_interval: Duration,
    /// What each caller may have, where nothing else is said.
    pub limits: LimitRules,
    /// Follows requests; asked for what it has lost.
    pub tracer: Option<Tracer>,
    /// Is asked for the skills of tools before the built-in model is.
    pub llm: Option<Llm>,
    /// Is asked for a second opinion on findings of severity medium.
    pub second_opinions: Option<SecondOpinions>,
    /// Embeds tools and questions before the built-in model does.
    pub embeddings: Option<Embeddings>,
    /// Who may see and use what, besides roles and patterns.
    pub policies: Arc<PolicyHolder>,
}

/// Where everything is kept, and what opens it.
#[derive(Debug, Clone)]
pub struct StorageSettings {
    pub data_dir: PathBuf,
    pub store: StoreUrl,
    pub key: KeySource,
}

/// One of several that work with a store.
#[derive(Debug, Clone)]
pub struct ReplicaSettings {
    /// Where the others reach it; `None`: there are none.
    pub address: Option<Url>,
    /// Without a word of the store for so long, nothing is trusted that may have been revoked there.
    pub max_stale: Duration,
}

/// What becomes of the audit log.
#[derive(Debug, Clone, Default)]
pub struct AuditSettings {
    /// What becomes of calls while nothing more can be recorded.
    pub full: AuditFull,
    /// Bytes of records that may wait on disk while the store is slow or away.
    pub spool: u64,
    pub keep: AuditKeep,
    /// Where records go that are not kept any more.
    pub archive: Option<PathBuf>,
    /// Where its end is noted, outside the store.
    pub anchor: Option<PathBuf>,
    /// Where it is passed on to.
    pub export: Option<AuditExport>,
}

/// Who comes in besides the holders of API keys. `Debug` shows none.
#[derive(Clone)]
pub struct TokenSettings {
    /// Chosen by the operator; else one is made.
    pub admin_token: Option<String>,
    /// The one of `--token`.
    pub static_token: Option<String>,
    pub without_token: WithoutToken,
    /// Whose access tokens are taken.
    pub issuer: Option<Trusted>,
    /// Who clients are that show a certificate.
    pub certificates: CertificateRoles,
    /// Who signs in to the dashboard at an issuer, if anybody does.
    pub people: Option<PeopleSettings>,
}

/// What servers that are registered over REST may be and may use.
#[derive(Clone)]
pub struct RegistrationRules {
    pub stdio: StdioRegistration,
    /// The walls around those that do not say it themselves.
    pub sandbox: SandboxProfile,
    /// Where they may be.
    pub reach: Policy,
    /// Variables of the environment that they may refer to.
    pub allowed_variables: AllowedVariables,
    /// Looks one up.
    pub variable: VariableLookup,
    /// Where Trunkline itself looks for programs.
    pub program_search: ProgramSearch,
}

pub type VariableLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// May servers be registered that are commands on this machine? By admins only, in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StdioRegistration {
    #[default]
    Refused,
    /// Those that run one of these programs, as they are written here: see `command`.
    Only(Vec<String>),
    Allowed,
}

impl Debug for TokenSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSettings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Debug for RegistrationRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistrationRules")
            .field("stdio", &self.stdio)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}
