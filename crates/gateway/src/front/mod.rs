//! How clients reach Trunkline.

mod client_lines;
pub(crate) mod http;
pub(crate) mod signals;
pub(crate) mod socket;
pub(crate) mod stdio;
