//! The demo: small MCP servers inside the program, and a house of their own for `serve --demo`.

mod house;
mod offer;
mod server;
mod shown;

pub(crate) use house::House;

use clap::ValueEnum;

/// The servers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
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

impl Name {
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
pub(crate) fn run(name: Name) -> u8 {
    match name {
        Name::Clock => server::run(name.as_str(), shown::Clock),
        Name::Notes => server::run(name.as_str(), shown::Notes::new()),
        Name::Weather => server::run(name.as_str(), shown::Weather),
        Name::Tables => server::run(name.as_str(), shown::Tables::default()),
        Name::Flaky => server::run(name.as_str(), shown::Flaky::default()),
    }
}
