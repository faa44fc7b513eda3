//! Where it is kept what was approved of servers' definitions: in the user's state directory, apart from what is
//! only a cache.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use trunkline_gateway::{
    Fleet, Later, LoadedPins, PinChange, PinFiles, PinHome, PinHomeError, PinnedEntry,
};

use crate::environment::Environment;
use crate::watch::{Pace, Watch};

/// A directory to keep pins in, or `off`.
const VARIABLE: &str = "TRUNKLINE_PINS";

/// `None`: nothing is pinned, because the user switched it off or no directory is known.
pub(crate) fn home(environment: &Environment) -> Option<PinFiles> {
    Some(PinFiles::in_directory(directory(environment)?))
}

/// For a client that can do less than the user's others: a server may list fewer tools to it, and with those as its first
/// pins the rest would be new to the next client. It obeys pins, and adds what has changed.
#[derive(Debug)]
pub(crate) struct NoFirstPins(pub(crate) Arc<dyn PinHome>);

impl PinHome for NoFirstPins {
    fn load(&self, entry: PinnedEntry) -> Later<'_, Result<LoadedPins, PinHomeError>> {
        self.0.load(entry)
    }

    fn save(&self, entry: PinnedEntry, change: PinChange) -> Later<'_, Result<(), PinHomeError>> {
        match &change.expected {
            Some(_) => self.0.save(entry, change),
            None => Box::pin(async { Ok(()) }),
        }
    }

    fn load_now(&self, entry: &PinnedEntry) -> Option<Result<LoadedPins, PinHomeError>> {
        self.0.load_now(entry)
    }

    fn save_soon(&self, entry: &PinnedEntry, change: PinChange) {
        if change.expected.is_some() {
            self.0.save_soon(entry, change);
        }
    }

    fn remedy(&self, server: &str) -> String {
        self.0.remedy(server)
    }
}

fn directory(environment: &Environment) -> Option<PathBuf> {
    if let Some(chosen) = environment.path(VARIABLE) {
        return (chosen.as_os_str() != "off").then_some(chosen);
    }
    // A relative path is none (XDG Base Directory Specification).
    let absolute = |name| environment.path(name).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("trunkline/pins"))
}

/// Tells the gateway whenever somebody has decided something about a definition, in whatever process.
pub(crate) async fn follow(files: Option<PinFiles>, fleet: &Fleet) -> Infallible {
    let Some(files) = files else { return std::future::pending().await };
    let mut watch = Watch::new(&files.reviewed(), Pace::default());
    loop {
        watch.changed().await;
        fleet.reconsider_pins();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_kept_in_the_state_directory() {
        for (variables, expected) in [
            (&[("HOME", "/h")][..], Some("/h/.local/state/trunkline/pins")),
            (&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], Some("/s/trunkline/pins")),
            (&[("HOME", "/h"), ("XDG_STATE_HOME", "s")], Some("/h/.local/state/trunkline/pins")),
            (&[("HOME", "/h"), ("TRUNKLINE_CACHE", "off")], Some("/h/.local/state/trunkline/pins")),
            (&[("HOME", "/h"), ("TRUNKLINE_PINS", "/p")], Some("/p")),
            (&[("HOME", "/h"), ("TRUNKLINE_PINS", "off")], None),
            (&[("HOME", "h")], None),
            (&[], None),
        ] {
            let found = directory(&Environment::of(variables));
            assert_eq!(found, expected.map(PathBuf::from), "{variables:?}");
        }
    }
}
