//! `SandboxPolicy`: what holds for the walls of all servers of a gateway.

use std::path::PathBuf;

use trunkline_catalog::config::SandboxProfile;

/// What holds for the walls of all servers of a gateway.
#[derive(Clone, Debug)]
pub struct SandboxPolicy {
    /// For servers whose entries say nothing.
    pub default: SandboxProfile,
    /// Trunkline's own files, which no walled-in server reads.
    pub never: Vec<PathBuf>,
    /// Where each walled-in server has a package cache of its own; `None`: it has none.
    pub own: Option<PathBuf>,
    /// Servers are watched instead of being walled in: what they use is written here.
    pub watch: Option<PathBuf>,
}

impl Default for SandboxPolicy {
    fn default() -> Self {
        Self { default: SandboxProfile::Off, never: Vec::new(), own: None, watch: None }
    }
}
