//! The log: errors and warnings on stderr for people, more on request, and a file if one is wanted.
//!
//! Our own small subscriber: events only, no spans, and a write to stderr never blocks. A client
//! that does not read our stderr loses log lines, not calls.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};
use trunkline_gateway::TOLD;

use crate::environment::Environment;
use crate::moment::timestamp;
use crate::terminal::above_status;

/// Levels for the two destinations.
#[derive(Debug)]
pub(crate) struct Logging {
    stderr: Level,
    file: Option<(Mutex<File>, Level)>,
    lost: Mutex<usize>,
}

const DIRECTORY: &str = "MCP_PROXY_LOG_DIRECTORY_PATH";
const LEVEL: &str = "MCP_PROXY_LOG_LEVEL";
const FILE: &str = "trunkline.log";

/// The target of what is told whatever the level: where we listen.
pub(crate) const NOTICE: &str = "notice";

/// What is wrong with the variables that steer the log.
#[derive(Debug, thiserror::Error)]
#[error("{LEVEL} is {0:?}; it must be error, warn, info or debug")]
pub(crate) struct BadLevel(String);

/// Starts logging. A log file that cannot be written is a warning: serving goes on.
pub(crate) fn start(debug: bool, environment: &Environment) -> Result<(), BadLevel> {
    let (logging, failed) = prepare(debug, environment)?;
    // Only `main` calls this, once; a second subscriber would be refused, and that is fine.
    drop(tracing::subscriber::set_global_default(logging));
    if let Some((directory, error)) = failed {
        tracing::warn!("no log is written to {} ({DIRECTORY}): {error}", directory.display());
    }
    Ok(())
}

/// Something that was told on stderr before the log could say it: the file has it, too.
pub(crate) fn told(text: &str) {
    tracing::error!(target: TOLD, "{}", text.trim_end());
}

type Failed = Option<(PathBuf, io::Error)>;

fn prepare(debug: bool, environment: &Environment) -> Result<(Logging, Failed), BadLevel> {
    let asked = environment.filled(LEVEL).map(level).transpose()?;
    let stderr = if debug { Level::DEBUG } else { asked.unwrap_or(Level::WARN) };
    let file_level = asked.unwrap_or(Level::INFO).max(stderr);
    let (mut file, mut failed) = (None, None);
    if let Some(directory) = environment.path(DIRECTORY) {
        match open(&directory) {
            Ok(opened) => file = Some((Mutex::new(opened), file_level)),
            Err(error) => failed = Some((directory, error)),
        }
    }
    Ok((Logging { stderr, file, lost: Mutex::new(0) }, failed))
}

fn level(text: String) -> Result<Level, BadLevel> {
    text.parse().ok().filter(|_| text.parse::<usize>().is_err()).ok_or(BadLevel(text))
}

fn open(directory: &Path) -> io::Result<File> {
    std::fs::create_dir_all(directory)?;
    OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join(FILE))
}

impl Subscriber for Logging {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.target() == NOTICE {
            return true;
        }
        let wanted = self.file.as_ref().map_or(self.stderr, |(_, level)| *level);
        *metadata.level() <= wanted.max(self.stderr)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let level = *event.metadata().level();
        let notice = event.metadata().target() == NOTICE;
        let text = text.finish();
        if notice {
            self.to_stderr(&format!("trunkline: {text}\n"));
        } else if level <= self.stderr && event.metadata().target() != TOLD {
            self.to_stderr(&format!("trunkline: {}: {text}\n", word(level)));
        }
        if let Some((file, wanted)) = &self.file
            && (notice || level <= *wanted)
        {
            let line = format!("{} {} {text}\n", timestamp(SystemTime::now()), word(level));
            // A full disk must not stop the service; stderr still tells what matters.
            drop(file.lock().write_all(line.as_bytes()));
        }
    }

    // No spans are used.
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// What a pipe that polls as writable takes without blocking.
const ATOMIC: usize = 4096;

impl Logging {
    fn to_stderr(&self, line: &str) {
        let mut lost = self.lost.lock();
        let mut line = line.to_owned();
        if *lost > 0 {
            line.insert_str(0, &format!("trunkline: warning: {lost} log lines were lost here\n"));
        }
        let mut is_whole = true;
        above_status(|| is_whole = line.as_bytes().chunks(ATOMIC).all(written));
        *lost = if is_whole { 0 } else { *lost + 1 };
    }
}

/// Writes a piece, if that does not block.
fn written(piece: &[u8]) -> bool {
    if !stderr_takes_more() {
        return false;
    }
    // Gone: there is nobody to tell.
    drop(io::stderr().write_all(piece));
    true
}

fn stderr_takes_more() -> bool {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
    matches!(poll(&mut fds, Some(&Timespec::default())), Ok(1..))
}

fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// An event as text: "server `fs` (startup): message key=value".
#[derive(Default)]
struct Text {
    server: Option<String>,
    phase: Option<String>,
    message: String,
    rest: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "server" => self.server = Some(format!("{value:?}")),
            "phase" => self.phase = Some(format!("{value:?}")),
            // Writing to a string cannot fail.
            name => drop(write!(self.rest, " {name}={value:?}")),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "server" => self.server = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }
}

impl Text {
    fn finish(self) -> String {
        let phase = self.phase.map(|phase| format!(" ({phase})")).unwrap_or_default();
        let server = self.server.map(|server| format!("server `{server}`{phase}: "));
        format!("{}{}{}", server.unwrap_or_default(), self.message, self.rest)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn environment(directory: &Path, level: &str) -> Environment {
        let directory = directory.to_string_lossy().into_owned();
        Environment::of(&[(DIRECTORY, &directory), (LEVEL, level)])
    }

    /// What lands in the log file at a level.
    fn logged(level: &str) -> Vec<String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-log-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let (logging, failed) = prepare(false, &environment(&directory, level)).unwrap();
        assert!(failed.is_none());
        tracing::subscriber::with_default(logging, || {
            tracing::error!(server = "fs", "one");
            tracing::info!(count = 2, "two");
            tracing::debug!("three");
            tracing::info!(target: NOTICE, "four");
            told("five\n");
        });
        let text = std::fs::read_to_string(directory.join(FILE)).unwrap();
        std::fs::remove_dir_all(directory).unwrap();
        let behind_time = |line: &str| line.split_once(' ').unwrap().1.to_owned();
        text.lines().map(behind_time).collect()
    }

    #[test]
    fn co_8_the_log_file_has_what_the_level_says() {
        let (one, two, five) = ("error server `fs`: one", "info two count=2", "error five");
        assert_eq!(logged("error"), [one, "info four", five]);
        assert_eq!(logged("info"), [one, two, "info four", five]);
        assert_eq!(logged("debug"), [one, two, "debug three", "info four", five]);
        assert_eq!(logged(""), [one, two, "info four", five]);
    }

    #[test]
    fn a_directory_that_cannot_be_is_told() {
        let (_, failed) = prepare(false, &environment(Path::new("/dev/null/x"), "info")).unwrap();
        assert!(failed.is_some());
    }

    #[test]
    fn levels_have_names_only() {
        assert!(level("debug".to_owned()).is_ok());
        assert!(level("info".to_owned()).is_ok());
        assert!(level("3".to_owned()).is_err());
        assert!(level("loud".to_owned()).is_err());
    }
}
