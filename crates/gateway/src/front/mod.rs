//! How clients reach Trunkline.

pub(crate) mod http;
mod signals;
pub(crate) mod stdio;
