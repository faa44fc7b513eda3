//! Processes of the tests that outlive them: browsers, drivers, servers. None may.

use std::path::Path;
use std::time::{Duration, Instant};

/// The rooms of the tests are called `trunkline-it-PID-NUMBER-`, and whatever is started in one carries its name
/// in its arguments or its environment.
const ROOM: &[u8] = b"trunkline-it-";
/// What ends with its parent may take a moment to.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is there before the tests begin.
pub struct Before(Vec<String>);

pub fn before() -> Before {
    Before(found(Path::new("/proc")))
}

/// After the tests: nothing of a room may be there whose tests are not. What was there before, and rooms of other
/// runs that go on at the same time, are not theirs.
pub fn check(before: &Before) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut found = found(Path::new("/proc"));
        found.retain(|process| !before.0.contains(process));
        if found.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("left behind by the tests:\n{}", found.join("\n")));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn found(proc: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let processes = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    let orphan = |dir: std::fs::DirEntry| {
        let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap_or_default();
        let arguments = read("cmdline");
        let owner = owner(&arguments).or_else(|| owner(&read("environ")))?;
        let is_own = dir.file_name().to_str() == Some(&owner.to_string());
        let shown = String::from_utf8_lossy(&arguments).replace('\0', " ");
        let orphan = format!("{} {shown}", dir.file_name().display());
        (!is_own && !proc.join(owner.to_string()).exists()).then_some(orphan)
    };
    processes.filter_map(orphan).collect()
}

/// The process of the tests that a room's name in this text says it is of.
fn owner(text: &[u8]) -> Option<u32> {
    let at = text.windows(ROOM.len()).position(|part| part == ROOM)?;
    let digits = text.get(at + ROOM.len()..)?.iter().take_while(|byte| byte.is_ascii_digit());
    let digits: Vec<u8> = digits.copied().collect();
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_the_room_it_was_started_in() {
        for (text, expected) in [
            (&b"chromium\0--user-data-dir=/tmp/trunkline-it-4711-3-/browser\0"[..], Some(4711)),
            (b"HOME=/root\0TRUNKLINE_TEST_ROOM=/tmp/trunkline-it-12-0-\0", Some(12)),
            (b"trunkline-it-\0", None),
            (b"trunkline serve\0", None),
            (b"", None),
        ] {
            assert_eq!(owner(text), expected, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn only_what_has_outlived_its_tests_is_found() {
        let proc = std::env::temp_dir().join(format!("trunkline-leftovers-{}", std::process::id()));
        for (pid, arguments, environ) in [
            ("10", "it\0", "TRUNKLINE_TEST_ROOM=/tmp/trunkline-it-10-0-\0"),
            ("11", "fake\0/tmp/trunkline-it-10-0-/script\0", ""),
            ("12", "chromium\0--user-data-dir=/tmp/trunkline-it-9-0-/browser\0", ""),
            ("13", "crashpad\0", "TRUNKLINE_TEST_ROOM=/tmp/trunkline-it-9-1-\0"),
            ("14", "sh\0", "HOME=/\0"),
            ("self", "trunkline-it-9-0-\0", ""),
        ] {
            let dir = proc.join(pid);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("cmdline"), arguments).unwrap();
            std::fs::write(dir.join("environ"), environ).unwrap();
        }
        let mut found = found(&proc);
        std::fs::remove_dir_all(&proc).unwrap();
        found.sort();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("12 chromium") && found[1].starts_with("13 crashpad"));
    }
}
