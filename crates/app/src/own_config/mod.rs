//! The user's own config: the file that commands work with where none is named.

mod location;

pub(crate) use location::own_path;
