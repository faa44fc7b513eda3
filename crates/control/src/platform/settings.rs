//! What the operator has decided.

use std::fmt::{self, Debug};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trunkline_gateway::ConnectedClients;
use trunkline_http::reach::Policy;
use trunkline_store::StoreUrl;

use super::ProgramSearch;
use crate::access::WithoutToken;
use crate::embed::Embeddings;
use crate::issuer::Trusted;
use crate::llm::Llm;
use crate::secrets::{AllowedVariables, KeySource};
use crate::trace::Tracer;

/// Everything the platform is told from outside.
#[derive(Clone)]
pub struct Settings {
    pub data_dir: PathBuf,
    pub store: StoreUrl,
    pub key: KeySource,
    /// Chosen by the operator; else one is made.
    pub admin_token: Option<String>,
    /// The one of `--token`.
    pub static_token: Option<String>,
    pub without_token: WithoutToken,
    /// Whose access tokens are taken.
    pub issuer: Option<Trusted>,
    pub stdio: StdioRegistration,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Who is connected there.
    pub guests: ConnectedClients,
    /// How browsers and authorization servers reach this, without a slash at the end.
    pub public: Option<String>,
    /// Where registered servers may be.
    pub reach: Policy,
    /// Variables of the environment that registered servers may refer to.
    pub allowed: AllowedVariables,
    /// Looks one up.
    pub environment: VariableLookup,
    /// Where Trunkline itself looks for programs.
    pub own: ProgramSearch,
    pub health_interval: Duration,
    /// Who follows requests, for what it has lost.
    pub tracer: Option<Tracer>,
    /// Who is asked for the skills of tools, before the model in the program is.
    pub llm: Option<Llm>,
    /// Who is asked where tools and questions point, before the model in the program is.
    pub embeddings: Option<Embeddings>,
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

/// Without the tokens.
impl Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("data_dir", &self.data_dir)
            .field("store", &self.store)
            .field("issuer", &self.issuer)
            .field("stdio", &self.stdio)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}
