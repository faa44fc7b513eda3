//! Where clients come in.

mod stdio;

pub(crate) use stdio::serve;
