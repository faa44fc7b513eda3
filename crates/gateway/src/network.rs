//! `Network`: which addresses servers may have that somebody else has named, and the environment's proxies.

use trunkline_http::proxy::Proxies;
use trunkline_http::reach::Policy;

#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Which addresses may be reached that came from outside the config.
    pub reach: Policy,
    pub proxies: Proxies,
}
