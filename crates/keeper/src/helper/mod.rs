//! The keeper process: this program, started again by itself, which starts servers and ends them.

mod deaf;
mod execute;
mod inbox;
mod keeper;
mod phase;
mod search;
mod start;
mod strays;
mod tree;

pub use search::find_program;

use std::ffi::CStr;
use std::io;
use std::process::ExitCode;

use crate::{open_files, system};

/// The word that makes this program a keeper.
pub(crate) const KEEPER_WORD: &str = "__keeper";
/// What a keeper is called in `ps`, in place of the program's path. See the invariants in `lib.rs`.
pub(crate) const KEEPER_NAME: &str = "tl-keeper";
const KEEPER_NAME_C: &CStr = c"tl-keeper";

/// To be called first in `main`, before there is any other thread: `Some` if this process was
/// started as a keeper and has done its work.
pub fn run_if_asked() -> Option<ExitCode> {
    let word = std::env::args_os().nth(1)?;
    if word != KEEPER_WORD {
        return None;
    }
    // There is nobody to tell: stderr is /dev/null. The owner notices the end itself.
    Some(if run().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run() -> io::Result<()> {
    // The order matters: the name is set before anything can fail, so that a stuck keeper is
    // recognised in `ps`.
    system::set_name(KEEPER_NAME_C)?;
    deaf::to_signals_meant_for_the_owner()?;
    // Before the first server: orphans of an earlier one would otherwise go to init and escape.
    system::adopt_orphans()?;
    if let Some(told) = std::env::args().nth(3) {
        // The limit as the user had it: servers get that one back and not the raised one.
        open_files::remember(&told);
    }
    open_files::raise_open_files();
    keeper::run()
}
