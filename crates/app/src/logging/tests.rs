//! What lands in the log file, at which level, in which form.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::file::{LogFile, NAME};
use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-log-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn environment(directory: &Path, level: &str) -> Environment {
    let directory = directory.to_string_lossy().into_owned();
    Environment::of(&[(DIRECTORY, &directory), (LEVEL, level)])
}

/// What lands in the log file.
fn logged(flags: &LogFlags, level: &str) -> Vec<String> {
    let folder = Folder::new();
    let prepared = prepare(flags, &environment(&folder.0, level)).unwrap();
    assert!(prepared.failed.is_none());
    tracing::subscriber::with_default(prepared.subscriber, || {
        tracing::error!(server = "fs", "one");
        tracing::info!(count = 2, "two");
        tracing::debug!("three");
        tracing::info!(target: NOTICE, "four");
        told("five\n");
    });
    drop(prepared.writer);
    let text = std::fs::read_to_string(folder.0.join(NAME)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn behind_time(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.split_once(' ').unwrap().1).collect()
}

#[test]
fn co_8_the_log_file_has_what_the_level_says() {
    let (one, two, five) = ("error server `fs`: one", "info two count=2", "error five");
    let at = |level| logged(&LogFlags::default(), level);
    assert_eq!(behind_time(&at("error")), [one, "info four", five]);
    assert_eq!(behind_time(&at("info")), [one, two, "info four", five]);
    assert_eq!(behind_time(&at("debug")), [one, two, "debug three", "info four", five]);
    assert_eq!(behind_time(&at("")), [one, two, "info four", five]);
}

#[test]
fn a_filter_chooses_by_module() {
    let (one, two, five) = ("error server `fs`: one", "info two count=2", "error five");
    let with = |filter: &str| {
        logged(&LogFlags { log: Some(filter.to_owned()), ..LogFlags::default() }, "")
    };
    assert_eq!(behind_time(&with("info")), [one, two, "info four", five]);
    let ours = with("error,trunkline_app::logging=debug");
    assert_eq!(behind_time(&ours), [one, two, "debug three", "info four", five]);
    assert_eq!(behind_time(&with("trunkline_gateway=debug")), [one, "info four", five]);
    assert_eq!(behind_time(&with("off")), ["info four"]);
}

#[test]
fn json_has_one_object_a_line() {
    let flags = LogFlags { log_format: LogFormat::Json, ..LogFlags::default() };
    let lines: Vec<Value> =
        logged(&flags, "").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["level"], &lines[0]["server"]), (&"ERROR".into(), &"fs".into()));
    assert_eq!((&lines[1]["message"], &lines[1]["count"]), (&"two".into(), &2.into()));
    assert!(lines[1]["timestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_directory_that_cannot_be_is_told() {
    let environment = environment(Path::new("/dev/null/x"), "info");
    assert!(prepare(&LogFlags::default(), &environment).unwrap().failed.is_some());
}

#[test]
fn levels_have_names_only() {
    assert!(level("debug".to_owned()).is_ok());
    assert!(level("info".to_owned()).is_ok());
    assert!(level("3".to_owned()).is_err());
    assert!(level("loud".to_owned()).is_err());
    for wrong in ["loud", "info,loud", "a=loud", "=", "info,"] {
        assert!(parse("--log", wrong.to_owned()).is_err(), "{wrong}");
    }
}

#[test]
fn a_large_file_makes_room_and_few_older_ones_stay() {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let mut file = LogFile::open_up_to(&folder.0, 10).unwrap();
    for number in 0..20 {
        writeln!(file, "line {number:04}").unwrap();
    }
    let mut names: Vec<String> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let newest = std::fs::read_to_string(folder.0.join(NAME)).unwrap();
    assert_eq!(names, ["", ".1", ".2", ".3", ".4"].map(|end| format!("{NAME}{end}")));
    assert!(newest.ends_with("line 0019\n"), "{newest}");
    let mode = std::fs::metadata(folder.0.join(NAME)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
