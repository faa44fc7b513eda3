//! Every way in which editors, deployments and people replace a file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A directory of its own, removed at the end.
pub(super) struct Room(pub(super) PathBuf);

impl Room {
    pub(super) fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-watch-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Looks without an event come far too late for these tests.
const BY_EVENT: Pace = Pace { settle: Duration::from_millis(20), look: Duration::from_secs(3600) };
const BY_CLOCK: Pace = Pace { settle: Duration::from_millis(10), look: Duration::from_millis(20) };
const LIMIT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Notice {
    Event,
    Clock,
}

/// Does something to the file and waits until it is noticed.
fn noticed(notice: Notice, file: &Path, act: impl FnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = match notice {
            Notice::Event => Watch::new(file, BY_EVENT),
            Notice::Clock => Watch::with(file, BY_CLOCK, Waker::deaf()),
        };
        // The watch is really waiting when it happens.
        assert!(tokio::time::timeout(Duration::from_millis(30), watch.changed()).await.is_err());
        act();
        tokio::time::timeout(LIMIT, watch.changed()).await.expect("the change was not noticed");
        assert_eq!(watch.seen, Print::take(file), "it was not at rest");
    });
}

#[test]
fn each_way_to_change_a_file_is_noticed() {
    for notice in [Notice::Event, Notice::Clock] {
        let room = Room::new("ways");
        let at = |name: &str| room.0.join(name);
        let file = at("mcp.json");
        fs::write(&file, "{}").unwrap();
        noticed(notice, &file, || fs::write(&file, "{ }").unwrap());
        noticed(notice, &file, || {
            fs::write(at("mcp.json.tmp"), "{ }").unwrap();
            fs::rename(at("mcp.json.tmp"), &file).unwrap();
        });
        noticed(notice, &file, || {
            fs::rename(&file, at("mcp.json~")).unwrap();
            fs::write(&file, "{  }").unwrap();
        });
        noticed(notice, &file, || fs::remove_file(&file).unwrap());
        noticed(notice, &file, || fs::write(&file, "{}").unwrap());
    }
}

#[test]
fn changes_behind_links_are_noticed() {
    for notice in [Notice::Event, Notice::Clock] {
        let room = Room::new("links");
        let at = |name: &str| room.0.join(name);
        for version in ["v1", "v2"] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("mcp.json"), version).unwrap();
        }
        fs::create_dir(at("home")).unwrap();
        let file = at("home/mcp.json");
        symlink("v1", at("current")).unwrap();
        symlink("../current/mcp.json", &file).unwrap();
        // the file at the end
        noticed(notice, &file, || fs::write(at("v1/mcp.json"), "edited").unwrap());
        // a link on the way, turned as deployments do
        noticed(notice, &file, || {
            symlink("v2", at("current.new")).unwrap();
            fs::rename(at("current.new"), at("current")).unwrap();
        });
        // and the file at its new end
        noticed(notice, &file, || fs::write(at("v2/mcp.json"), "edited again").unwrap());
    }
}

#[test]
fn a_watch_follows_a_turned_link_without_being_made_again() {
    let room = Room::new("follow");
    let at = |name: &str| room.0.join(name);
    for version in ["v1", "v2"] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("mcp.json"), version).unwrap();
    }
    symlink("v1", at("current")).unwrap();
    let file = at("current/mcp.json");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = Watch::new(&file, BY_EVENT);
        symlink("v2", at("new")).unwrap();
        fs::rename(at("new"), at("current")).unwrap();
        tokio::time::timeout(LIMIT, watch.changed()).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(50), watch.changed()).await.is_err());
        fs::write(at("v2/mcp.json"), "edited").unwrap();
        tokio::time::timeout(LIMIT, watch.changed()).await.unwrap();
    });
}

#[test]
fn a_directory_made_again_is_watched_again() {
    let room = Room::new("again");
    let directory = room.0.join("conf");
    let file = directory.join("mcp.json");
    let make = |text: &str| {
        fs::create_dir(&directory).unwrap();
        fs::write(&file, text).unwrap();
    };
    make("{}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = Watch::new(&file, BY_EVENT);
        fs::remove_dir_all(&directory).unwrap();
        make("{ }");
        tokio::time::timeout(LIMIT, watch.changed()).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(50), watch.changed()).await.is_err());
        fs::write(&file, "{  }").unwrap();
        tokio::time::timeout(LIMIT, watch.changed()).await.unwrap();
    });
}

#[test]
fn a_file_is_not_taken_while_it_is_being_written() {
    let room = Room::new("slow");
    let file = room.0.join("mcp.json");
    fs::write(&file, "{}").unwrap();
    let pace = Pace { settle: Duration::from_secs(1), ..BY_EVENT };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = Watch::new(&file, pace);
        let write = async {
            for length in 1..10 {
                fs::write(&file, " ".repeat(length)).unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let changed = async {
            tokio::time::timeout(LIMIT, watch.changed()).await.unwrap();
            fs::read(&file).unwrap().len()
        };
        let ((), length) = tokio::join!(write, changed);
        assert_eq!(length, 9);
    });
}

#[test]
fn a_pipe_is_read_once() {
    let room = Room::new("pipe");
    let file = room.0.join("mcp.json");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = Watch::new(&file, BY_EVENT);
        let both = fs::OpenOptions::new().read(true).write(true).open(&file).unwrap();
        std::io::Write::write_all(&mut &both, b"{}").unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(200), watch.changed()).await.is_err());
    });
}

#[test]
fn other_files_are_not_this_file() {
    let room = Room::new("others");
    let file = room.0.join("mcp.json");
    fs::write(&file, "{}").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = Watch::new(&file, BY_EVENT);
        fs::write(room.0.join("other.json"), "{}").unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(200), watch.changed()).await.is_err());
    });
}
