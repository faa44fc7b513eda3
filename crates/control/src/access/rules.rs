//! `Rules`: what policies leave of a caller's grants. They are made elsewhere; here is what is asked of them.

use std::sync::Arc;

use trunkline_gateway::PolicyGrant;

/// Policies for one caller.
pub trait CallerRules: PolicyGrant {
    /// May anything of this server be seen?
    fn touches(&self, server: &str) -> bool;

    /// Equal for callers that policies cannot tell apart.
    fn identity(&self) -> &str;
}

/// Those of a principal.
#[derive(Debug, Clone)]
pub struct Rules(pub Arc<dyn CallerRules>);

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity() == other.0.identity()
    }
}

impl Eq for Rules {}
