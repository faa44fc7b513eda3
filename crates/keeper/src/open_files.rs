//! How many files a process may have open: Trunkline and the keeper take what the system allows,
//! servers get the limit that Trunkline was started with.
//!
//! Many shells allow 1,024 or fewer, and each server takes several. Servers keep the old limit
//! because programs that use `select` break above 1,024.

use std::sync::OnceLock;

use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::MOST_OPEN_FILES;

/// The soft limit that servers are to have; set once, before this process raises its own.
static FOR_SERVERS: OnceLock<Option<u64>> = OnceLock::new();

/// Raises this process's soft limit as far as the hard limit allows, and returns what holds then.
pub fn raise_open_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    FOR_SERVERS.get_or_init(|| current);
    let wanted = maximum.unwrap_or(MOST_OPEN_FILES).min(MOST_OPEN_FILES);
    let allowed = current.unwrap_or(MOST_OPEN_FILES);
    if wanted > allowed
        && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).is_ok()
    {
        return wanted;
    }
    allowed
}

/// What a keeper is told: the soft limit for servers, in words that [`remember`] reads.
pub(crate) fn for_servers() -> String {
    let soft = FOR_SERVERS.get().copied().unwrap_or_else(|| getrlimit(Resource::Nofile).current);
    soft.map_or_else(|| UNLIMITED.to_owned(), |soft| soft.to_string())
}

/// Takes over what the owner has told, before this process raises its own limit.
pub(crate) fn remember(told: &str) {
    let soft = match told {
        UNLIMITED => None,
        number => match number.parse() {
            Ok(soft) => Some(soft),
            Err(_) => return,
        },
    };
    FOR_SERVERS.get_or_init(|| soft);
}

/// Gives the calling process the limit of servers. It makes system calls only: a new process calls
/// it before its exec.
pub(crate) fn restore() -> io::Result<()> {
    match FOR_SERVERS.get() {
        Some(&current) => {
            let maximum = getrlimit(Resource::Nofile).maximum;
            setrlimit(Resource::Nofile, Rlimit { current, maximum })
        }
        None => Ok(()),
    }
}

const UNLIMITED: &str = "unlimited";
