//! A line of the log for people: "server `fs` (startup): message key=value".

use std::fmt::{self, Write as _};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::NOTICE;
use crate::timestamp::rfc3339;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// Among the lines of other programs: each line says that it is ours.
    Stderr,
    /// Each line says when it was written.
    File,
}

pub(super) struct TextFormat {
    pub(super) to: Destination,
}

impl<S, N> FormatEvent<S, N> for TextFormat
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = LogLine::default();
        event.record(&mut line);
        let line = line.finish();
        let word = level_word(*event.metadata().level());
        match self.to {
            Destination::Stderr if event.metadata().target() == NOTICE => {
                writeln!(writer, "trunkline: {line}")
            }
            Destination::Stderr => writeln!(writer, "trunkline: {word}: {line}"),
            Destination::File => writeln!(writer, "{} {word} {line}", rfc3339(SystemTime::now())),
        }
    }
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

#[derive(Default)]
struct LogLine {
    server: Option<String>,
    phase: Option<String>,
    message: String,
    rest: String,
}

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
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

impl LogLine {
    fn finish(self) -> String {
        let phase = self.phase.map(|phase| format!(" ({phase})")).unwrap_or_default();
        let server = self.server.map(|server| format!("server `{server}`{phase}: "));
        format!("{}{}{}", server.unwrap_or_default(), self.message, self.rest)
    }
}
