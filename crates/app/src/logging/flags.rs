//! The flags of the log.

use clap::{Args, ValueEnum};

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LogFlags {
    /// Log more than errors and warnings (to stderr)
    #[arg(long)]
    pub(crate) debug: bool,
    /// What is logged: a level, or levels by module, like `warn,trunkline_gateway=debug`
    /// [default: `$TRUNKLINE_LOG`]
    #[arg(long, value_name = "FILTER", conflicts_with = "debug")]
    pub(crate) log: Option<String>,
    /// How lines of the log are written: text, or json (one object a line)
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub(crate) log_format: LogFormat,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}
