//! The cache of what servers list, in the user's cache directory.

use std::path::{Path, PathBuf};

use trunkline_gateway::{KnownListings, ListingFiles};

use crate::environment::Environment;

/// A directory to remember things in, or `off`.
const VARIABLE: &str = "TRUNKLINE_CACHE";

/// `None`: nothing is cached, because the user switched it off or no directory is known.
pub(crate) fn listings(environment: &Environment) -> Option<ListingFiles> {
    Some(ListingFiles::in_directory(cache(environment)?.join("listings")))
}

/// The cache for the servers of a config: what was cached before the config was last edited may be of other
/// settings.
pub(crate) fn listings_for(
    config: Option<&Path>,
    environment: &Environment,
) -> Option<KnownListings> {
    let changed = config.and_then(|file| std::fs::metadata(file).ok()?.modified().ok());
    Some(listings(environment)?.since(changed).into())
}

fn cache(environment: &Environment) -> Option<PathBuf> {
    if let Some(chosen) = environment.path(VARIABLE) {
        return (chosen.as_os_str() != "off").then_some(chosen);
    }
    // A relative path is none (XDG Base Directory Specification).
    let absolute = |name| environment.path(name).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("trunkline"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_remembered_in_the_cache_unless_somebody_says_otherwise() {
        for (variables, expected) in [
            (&[("HOME", "/h")][..], Some("/h/.cache/trunkline")),
            (&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")], Some("/c/trunkline")),
            (&[("HOME", "/h"), ("XDG_CACHE_HOME", "c")], Some("/h/.cache/trunkline")),
            (&[("HOME", "/h"), ("XDG_CACHE_HOME", "")], Some("/h/.cache/trunkline")),
            (&[("HOME", "/h"), ("TRUNKLINE_CACHE", "/t")], Some("/t")),
            (&[("HOME", "/h"), ("TRUNKLINE_CACHE", "")], Some("/h/.cache/trunkline")),
            (&[("HOME", "/h"), ("TRUNKLINE_CACHE", "off")], None),
            (&[("HOME", "h")], None),
            (&[], None),
        ] {
            let found = cache(&Environment::of(variables));
            assert_eq!(found, expected.map(PathBuf::from), "{variables:?}");
        }
    }
}
