//! What differs between operating systems: another one is another file here.

mod linux;

pub(crate) use linux::{
    DIRECTORY, OWN_PROGRAM, RECEIVE, SEND, adopt_orphans, children, family, is_outside,
    own_children, set_name, tasks, watch_end,
};
