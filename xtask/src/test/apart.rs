//! Which black-box tests take turns: they get a process of their own, so that those that wait for
//! their turn keep none of the others from running.

use crate::source;

/// What they lock.
const LOCK: &str = "ONE_AT_A_TIME";

/// The modules of the black-box tests (`orphans::`) in which tests take turns.
pub(super) fn modules() -> Vec<String> {
    let sources = source::all().unwrap_or_default();
    let takes_turns = |file: &&source::Source| {
        file.path.starts_with("tests/it")
            && !file.path.ends_with("main.rs")
            && file.text.contains(LOCK)
    };
    sources
        .iter()
        .filter(takes_turns)
        .filter_map(|file| module(&file.path.to_string_lossy()))
        .collect()
}

fn module(path: &str) -> Option<String> {
    let inside = path.strip_prefix("tests/it/")?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    Some(format!("{}::", inside.replace('/', "::")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_is_a_module() {
        for (path, expected) in [
            ("tests/it/orphans.rs", Some("orphans::")),
            ("tests/it/real/mod.rs", Some("real::")),
            ("tests/it/platform/scale.rs", Some("platform::scale::")),
            ("tests/src/room.rs", None),
        ] {
            assert_eq!(super::module(path).as_deref(), expected);
        }
    }
}
