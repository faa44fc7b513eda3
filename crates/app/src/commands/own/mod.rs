//! The commands that change a config: `add`, `remove`, `enable`, `disable`, `edit`, `undo`, `tools
//! enable|disable`; and `list` and `path`, which look at it.

mod add;
mod edit;
mod failure;
mod list;
mod person;
mod planned;
mod switch;
mod tools;
mod undo;

pub(crate) use add::add;
pub(crate) use edit::edit;
pub(crate) use list::{list, path};
pub(crate) use switch::{disable, enable, remove};
pub(crate) use tools::switch_tools;
pub(crate) use undo::undo;
