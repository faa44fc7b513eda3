//! Files of pins: who may write them, what becomes of damaged ones, and two who write at the same time.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use trunkline_catalog::config::{OnChange, Secrets};
use trunkline_catalog::pins::{Definitions, KnownPins, Sighting, compare};
use trunkline_catalog::{ListKind, Listing};

use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-pins-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn files(&self) -> PinFiles {
        PinFiles::in_directory(self.0.join("pins"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn entry(id: &str) -> PinnedEntry {
    PinnedEntry { id: id.to_owned(), server_id: format!("file:{id}") }
}

/// What is known after a server that was known so has listed these tools.
fn seen(known: KnownPins<'_>, tools: &[&str]) -> PinRecord {
    let tools: Vec<_> = tools.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
    let mut listing = Listing::default();
    let page = format!(r#"{{"tools":[{}]}}"#, tools.join(","));
    listing.add_page(ListKind::Tools, page.as_bytes(), 99).unwrap();
    let definitions = Definitions::of(&listing, None, &Secrets::new());
    let sighting = Sighting {
        server: "s",
        identity: None,
        definitions: &definitions,
        suspected: &[],
        suspected_pins: &[],
        policy: OnChange::Hold,
        now: 7,
    };
    compare(known, &sighting).record
}

fn change(record: PinRecord, expected: Option<PinRevision>) -> PinChange {
    PinChange { record, expected, noticed: Vec::new(), policy: OnChange::Hold }
}

#[test]
fn what_is_written_is_read_and_only_its_owner_can_see_it() {
    let scratch = Scratch::new();
    let files = scratch.files();
    assert!(matches!(files.read(&entry("a")), Ok(LoadedPins::Nothing)));
    let record = seen(KnownPins::Nothing, &["add"]);
    files.put(&entry("a"), &change(record.clone(), None)).unwrap();
    let Ok(LoadedPins::Record(read, _)) = files.read(&entry("a")) else { panic!("it is not read") };
    assert_eq!(read, record);
    for file in fs::read_dir(files.directory()).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(files.directory()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn who_has_not_read_the_last_record_does_not_replace_it() {
    let scratch = Scratch::new();
    let files = scratch.files();
    let first = seen(KnownPins::Nothing, &["add"]);
    files.put(&entry("a"), &change(first.clone(), None)).unwrap();
    let stale = files.put(&entry("a"), &change(first.clone(), None));
    assert_eq!(stale, Err(PinHomeError::Stale));
    let there = files.read(&entry("a")).unwrap();
    let second = seen(KnownPins::Record(&first), &["add", "new"]);
    files.put(&entry("a"), &change(second, there.revision().cloned())).unwrap();
    let stale = files.put(&entry("a"), &change(first, there.revision().cloned()));
    assert_eq!(stale, Err(PinHomeError::Stale));
}

#[test]
fn of_many_writers_each_adds_what_it_has_seen() {
    let scratch = Scratch::new();
    let files = scratch.files();
    files.put(&entry("a"), &change(seen(KnownPins::Nothing, &["add"]), None)).unwrap();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let files = files.clone();
            std::thread::spawn(move || {
                for number in 0..10 {
                    let tool = format!("tool-{writer}-{number}");
                    loop {
                        let Ok(LoadedPins::Record(record, revision)) = files.read(&entry("a"))
                        else {
                            panic!("a record is always there")
                        };
                        let record = seen(KnownPins::Record(&record), &["add", &tool]);
                        match files.put(&entry("a"), &change(record, Some(revision))) {
                            Ok(()) => break,
                            Err(PinHomeError::Stale) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let Ok(LoadedPins::Record(record, _)) = files.read(&entry("a")) else { panic!("it is gone") };
    assert_eq!(record.waiting.len(), 40, "nothing that a writer has seen was lost");
}

#[test]
fn a_damaged_record_is_no_record_of_a_server_never_seen() {
    let scratch = Scratch::new();
    let files = scratch.files();
    files.put(&entry("a"), &change(seen(KnownPins::Nothing, &["add"]), None)).unwrap();
    let path = files.path(&entry("a"));
    fs::write(&path, "{\"format\":1").unwrap();
    let Ok(LoadedPins::Damaged(revision, why)) = files.read(&entry("a")) else {
        panic!("damage is noticed")
    };
    assert!(why.contains("is damaged") && why.contains(path.to_str().unwrap()), "{why}");
    assert!(files.all().unwrap()[0].record.is_none());
    let lost = seen(KnownPins::Lost, &["add"]);
    files.put(&entry("a"), &change(lost, Some(revision))).unwrap();
    assert_eq!(fs::read(path.with_extension(DAMAGED)).unwrap(), b"{\"format\":1");
    assert_eq!(files.all().unwrap()[0].record.as_ref().unwrap().waiting.len(), 1);
}

#[test]
fn what_others_can_write_to_pins_nothing() {
    let scratch = Scratch::new();
    let files = scratch.files();
    files.put(&entry("a"), &change(seen(KnownPins::Nothing, &["add"]), None)).unwrap();
    fs::set_permissions(files.directory(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(files.read(&entry("a")), Err(PinHomeError::Failed(_))));
}

#[test]
fn a_decision_is_kept_and_told() {
    let scratch = Scratch::new();
    let files = scratch.files();
    let first = seen(KnownPins::Nothing, &["add"]);
    let second = seen(KnownPins::Record(&first), &["add", "new"]);
    let new = second.waiting[0].definition.hash.clone();
    files.put(&entry("a"), &change(second, None)).unwrap();
    let unknown = files.decide(&entry("a"), Decision::Approve, &[Choice::read("sub")]);
    assert!(matches!(unknown, Err(ReviewError::Unknown(_))));
    assert!(!files.reviewed().exists(), "nothing was decided");
    let unseen = files.decide(&entry("a"), Decision::Approve, &[]);
    assert!(matches!(unseen, Err(ReviewError::Unknown(UnknownChoice::NotShown { .. }))));
    files.note_shown(&entry("a"), &[&new]).unwrap();
    let decided = files.decide(&entry("a"), Decision::Approve, &[]).unwrap();
    assert_eq!((decided.len(), decided[0].name.as_str()), (1, "new"));
    assert!(files.reviewed().exists());
    let Ok(LoadedPins::Record(record, _)) = files.read(&entry("a")) else { panic!("it is gone") };
    assert_eq!((record.pins.len(), record.waiting.len()), (2, 0));
}
