//! The helper processes: this program, started again by itself as the keeper, which forks the shims.

mod deaf;
mod fork;
mod keeper;
mod phase;
mod reaper;
mod search;
mod shim;
mod start;

use std::ffi::CStr;
use std::io;
use std::process::ExitCode;

use keeper::Role;

use crate::system;

/// The word that makes this program a keeper.
pub(crate) const KEEPER_WORD: &str = "__keeper";
/// What a helper is called in `ps`, in place of the program's path. See the invariants in `lib.rs`.
pub(crate) const KEEPER_NAME: &str = "tl-keeper";
const KEEPER_NAME_C: &CStr = c"tl-keeper";
const SHIM_NAME_C: &CStr = c"tl-shim";

/// To be called first in `main`, before there is any other thread: `Some` if this process was
/// started as a helper and has done its work.
pub fn run_if_asked() -> Option<ExitCode> {
    let word = std::env::args_os().nth(1)?;
    if word != KEEPER_WORD {
        return None;
    }
    // There is nobody to tell: stderr is /dev/null. The owner notices the end itself.
    Some(if run().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run() -> io::Result<()> {
    system::set_name(KEEPER_NAME_C)?;
    deaf::to_signals_meant_for_the_owner()?;
    match keeper::run()? {
        Role::Keeper => Ok(()),
        Role::Shim(control) => {
            system::set_name(SHIM_NAME_C)?;
            shim::run(&control)
        }
    }
}
