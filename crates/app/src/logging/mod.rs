//! The log: errors and warnings on stderr for people, more on request, and a file if one is wanted.
//!
//! Nothing that logs ever waits: a client that does not read our stderr loses log lines, and the file is
//! written by a thread of its own.

mod file;
mod flags;
mod notices;
mod stderr;
mod text;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Subscriber};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;
use trunkline_gateway::TOLD;

use crate::environment::Environment;
use crate::timestamp::rfc3339;
use file::LogFile;
use flags::LogFormat;
use notices::Notices;
use stderr::Stderr;
use text::{Destination, TextFormat};

pub(crate) use flags::LogFlags;
pub(crate) use stderr::pass_to_stderr;

const DIRECTORY: &str = "MCP_PROXY_LOG_DIRECTORY_PATH";
const LEVEL: &str = "MCP_PROXY_LOG_LEVEL";
const FILTER: &str = "TRUNKLINE_LOG";

/// The target of what is told whatever the level: where we listen.
pub(crate) const NOTICE: &str = "notice";

/// What is wrong with the settings of the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    #[error("{LEVEL} is {0:?}; it must be error, warn, info or debug")]
    Level(String),
    #[error(
        "{source_name} is {filter:?}; it must be a level (off, error, warn, info, debug, trace) or levels \
         by module, like `warn,trunkline_gateway=debug`"
    )]
    Filter { source_name: &'static str, filter: String },
}

/// Ends the thread that writes the file when it is dropped. Held in a static, for the log lives as long as
/// the program; only `start` and `finish` lock it.
static WRITER: Mutex<Vec<WorkerGuard>> = Mutex::new(Vec::new());

/// Starts logging. A log file that cannot be written is a warning: serving goes on.
pub(crate) fn start(flags: &LogFlags, environment: &Environment) -> Result<(), LogError> {
    let Prepared { subscriber, writer, failed } = prepare(flags, environment)?;
    // Only `main` calls this, once; a second subscriber would be refused, and that is fine.
    drop(tracing::subscriber::set_global_default(subscriber));
    *WRITER.lock() = writer;
    if let Some((directory, error)) = failed {
        tracing::warn!("no log is written to {} ({DIRECTORY}): {error}", directory.display());
    }
    Ok(())
}

/// Starts the log of a shared runtime: into files of its own, and to the fronts of its clients, which show
/// it on their standard error.
pub(crate) fn start_runtime(
    flags: &LogFlags,
    environment: &Environment,
    directory: &Path,
    notices: broadcast::Sender<Arc<str>>,
) -> Result<(), LogError> {
    let fronts = layer(flags.log_format, Destination::Stderr, Notices(notices));
    let own = LogFile::open_up_to(directory, LARGEST_OF_RUNTIME);
    let Prepared { subscriber, writer, failed } = assemble(flags, environment, fronts, own.ok())?;
    drop(tracing::subscriber::set_global_default(subscriber));
    *WRITER.lock() = writer;
    if let Some((directory, error)) = failed {
        tracing::warn!("no log is written to {} ({DIRECTORY}): {error}", directory.display());
    }
    Ok(())
}

/// In a directory that is memory on many systems.
const LARGEST_OF_RUNTIME: u64 = 256 << 10;

/// Writes what the file still lacks. Called last.
pub(crate) fn finish() {
    WRITER.lock().clear();
}

/// Something that was told on stderr before the log could say it: the file has it, too.
pub(crate) fn told(text: &str) {
    tracing::error!(target: TOLD, "{}", text.trim_end());
}

struct Prepared {
    subscriber: Box<dyn Subscriber + Send + Sync>,
    writer: Vec<WorkerGuard>,
    failed: Option<(PathBuf, io::Error)>,
}

fn prepare(flags: &LogFlags, environment: &Environment) -> Result<Prepared, LogError> {
    let stderr = layer(flags.log_format, Destination::Stderr, Stderr::new(flags.log_format));
    assemble(flags, environment, stderr, None)
}

/// The files that the environment has the log written to.
pub(crate) fn files(environment: &Environment) -> Vec<PathBuf> {
    environment.path(DIRECTORY).map(|directory| file::paths(&directory)).unwrap_or_default()
}

/// `shown`: what people see; `own`: a file besides the one that the user may want.
fn assemble(
    flags: &LogFlags,
    environment: &Environment,
    shown: Box<dyn Layer<Registry> + Send + Sync>,
    own: Option<LogFile>,
) -> Result<Prepared, LogError> {
    let (on_stderr, in_file) = filters(flags, environment)?;
    // What was told is on stderr already.
    let on_stderr = on_stderr.with_target(NOTICE, Level::INFO).with_target(TOLD, LevelFilter::OFF);
    let in_file = in_file.with_target(NOTICE, Level::INFO);
    let mut layers = vec![shown.with_filter(on_stderr).boxed()];
    let (mut writer, mut failed) = (Vec::new(), None);
    let mut files = Vec::from_iter(own);
    if let Some(directory) = environment.path(DIRECTORY) {
        match LogFile::open(&directory) {
            Ok(file) => files.push(file),
            Err(error) => failed = Some((directory, error)),
        }
    }
    for file in files {
        // Lossy: when the disk is slow a line is dropped, and the thread that logs goes on.
        let (lines, guard) = NonBlockingBuilder::default()
            .lossy(true)
            .buffered_lines_limit(WAITING_LINES)
            .thread_name("trunkline-log")
            .finish(file);
        writer.push(guard);
        let file = layer(flags.log_format, Destination::File, lines);
        layers.push(file.with_filter(in_file.clone()).boxed());
    }
    let subscriber = Box::new(Registry::default().with(layers));
    Ok(Prepared { subscriber, writer, failed })
}

/// Lines that may wait for the disk: a few megabytes.
const WAITING_LINES: usize = 16_384;

/// What goes to stderr, and what into the file.
fn filters(flags: &LogFlags, environment: &Environment) -> Result<(Targets, Targets), LogError> {
    let given = match (&flags.log, environment.filled(FILTER)) {
        (Some(filter), _) => Some(("--log", filter.clone())),
        (None, Some(filter)) => Some((FILTER, filter)),
        (None, None) => None,
    };
    if let Some((source_name, filter)) = given.filter(|_| !flags.debug) {
        let filter = parse(source_name, filter)?;
        return Ok((filter.clone(), filter));
    }
    let asked = environment.filled(LEVEL).map(level).transpose()?;
    let stderr = if flags.debug { Level::DEBUG } else { asked.unwrap_or(Level::WARN) };
    // What stderr shows is in the file, too: it is the one that is kept.
    let file = asked.unwrap_or(Level::INFO).max(stderr);
    Ok((own(stderr), own(file)))
}

/// Libraries that tell of each step of their connections at `debug`. Only a filter that names them
/// shows it.
const LIBRARIES: [&str; 3] = ["hyper", "hyper_util", "rustls"];

/// What Trunkline says at this level, and of libraries no more than their warnings.
fn own(level: Level) -> Targets {
    let libraries = LIBRARIES.map(|library| (library, level.min(Level::WARN)));
    // A client decides what this one warns of, and how often: it would fill the log.
    let frames = ("h2", level.min(Level::ERROR));
    Targets::new().with_default(level).with_targets(libraries).with_targets([frames])
}

fn level(text: String) -> Result<Level, LogError> {
    text.parse().ok().filter(|_| text.parse::<usize>().is_err()).ok_or(LogError::Level(text))
}

fn parse(source_name: &'static str, filter: String) -> Result<Targets, LogError> {
    // A single word that is no level would be read as the name of a module, and silence all others.
    let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
    let is_clear = |part: &str| match part.split_once('=') {
        Some((module, level)) => !module.is_empty() && is_level(level),
        None => is_level(part),
    };
    let parsed = filter.parse::<Targets>().ok().filter(|_| filter.split(',').all(is_clear));
    match parsed {
        Some(targets) if targets.default_level().is_none() => Ok(targets.with_default(Level::WARN)),
        Some(targets) => Ok(targets),
        None => Err(LogError::Filter { source_name, filter }),
    }
}

fn layer<W>(format: LogFormat, to: Destination, writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = fmt::layer().with_writer(writer).with_ansi(false).log_internal_errors(false);
    match format {
        LogFormat::Text => layer.event_format(TextFormat { to }).boxed(),
        LogFormat::Json => layer
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_timer(Utc)
            .boxed(),
    }
}

struct Utc;

impl FormatTime for Utc {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        writer.write_str(&rfc3339(std::time::SystemTime::now()))
    }
}

#[cfg(test)]
mod tests;
