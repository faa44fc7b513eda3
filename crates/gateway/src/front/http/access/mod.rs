//! What the front accepts: Host, Origin, token and pass, and how it refuses the rest.

mod client_peer;
mod guard;
mod peer_network;
mod refusal;
mod wrong_tokens;

pub(crate) use client_peer::ClientPeer;
pub(crate) use guard::{FrontScheme, Guard, PassCache, SessionOwner};
pub use peer_network::PeerNetwork;
pub(crate) use refusal::{HttpRefusal, PROBLEM, Rejection, problem};
pub use wrong_tokens::{WrongTokens, retry_after};
