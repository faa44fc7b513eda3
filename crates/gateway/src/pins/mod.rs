//! Where it is kept what is pinned of servers: files of the user, or what a platform gives in their place.

mod files;
mod home;

pub use files::{KeptPins, PinFiles, ReviewError};
pub use home::{LoadedPins, PinChange, PinHome, PinHomeError, PinRevision, PinnedEntry};
