//! Colours: whether they are wanted, and how a word gets one.

use std::str::FromStr;

/// What the command line says about colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

impl Colour {
    /// `forced` and `refused` are the variables `CLICOLOR_FORCE` and `NO_COLOR`.
    pub(crate) fn is_on(self, terminal: bool, forced: bool, refused: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !refused && (terminal || forced),
        }
    }
}

impl FromStr for Colour {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err("must be auto, always or never".to_owned()),
        }
    }
}

/// Puts colours around words, or leaves them alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) const fn new(on: bool) -> Self {
        Self { on }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self.on {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_decides() {
        let table = [
            (Colour::Auto, true, false, false, true),
            (Colour::Auto, false, false, false, false),
            (Colour::Auto, true, false, true, false),
            (Colour::Auto, false, true, false, true),
            (Colour::Auto, false, true, true, false),
            (Colour::Always, false, false, true, true),
            (Colour::Never, true, true, false, false),
        ];
        for (colour, terminal, forced, refused, expected) in table {
            assert_eq!(colour.is_on(terminal, forced, refused), expected, "{colour:?}");
        }
        assert_eq!(Paint::new(true).red("x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(Paint::new(false).red("x"), "x");
    }
}
