//! How the servers do: what calls and checks say over the last minutes, and what follows from it.

mod check;
mod checker;
mod judge;
mod samples;
#[cfg(test)]
mod tests;
mod wards;
mod window;

pub use check::{Checkup, Inference, infer};
pub use checker::{Checker, Checking, Later, Patient};
pub use judge::{Phase, Reason, Rules, Signals, judge};
pub use samples::{WAITING, keep};
pub use wards::{Lately, Trouble, Ward, Wards};
pub use window::{Ended, Piece, SPAN, Summary, Window};
