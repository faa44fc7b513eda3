//! How clients reach Trunkline.

pub(crate) mod http;
pub(crate) mod signals;
pub(crate) mod stdio;
