//! What differs between operating systems: another one is another file here.

mod linux;

pub(crate) use linux::{
    OWN_PROGRAM, RECEIVE, SEND, adopt_orphans, children, command_line, descendants, set_name,
    thread_count, watch_end,
};
