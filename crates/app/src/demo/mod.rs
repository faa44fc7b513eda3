//! The demo: small MCP servers inside the program, and the folder that `serve --demo` serves from.

mod folder;
mod server;
mod servers;
mod tool;

pub(crate) use folder::DemoFolder;

use clap::ValueEnum;

/// The servers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoName {
    /// Dates and times.
    Clock,
    /// A small store with resources and a prompt.
    Notes,
    /// Invented weather, with structured results.
    Weather,
    /// Tables in a restaurant: it asks back.
    Tables,
    /// Slow, and not to be relied on.
    Flaky,
}

impl DemoName {
    pub(crate) const ALL: [Self; 5] =
        [Self::Clock, Self::Notes, Self::Weather, Self::Tables, Self::Flaky];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Notes => "notes",
            Self::Weather => "weather",
            Self::Tables => "tables",
            Self::Flaky => "flaky",
        }
    }
}

/// Is one of them on standard input and output until the input ends.
pub(crate) fn run(name: DemoName) -> u8 {
    match name {
        DemoName::Clock => server::run(name.as_str(), servers::Clock),
        DemoName::Notes => server::run(name.as_str(), servers::Notes::new()),
        DemoName::Weather => server::run(name.as_str(), servers::Weather),
        DemoName::Tables => server::run(name.as_str(), servers::Tables::default()),
        DemoName::Flaky => server::run(name.as_str(), servers::Flaky::default()),
    }
}
