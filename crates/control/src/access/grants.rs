//! Which tools a key may see and call: a list of patterns, matched on a server's name and the
//! tool's name as the server itself knows it.
//!
//! ```text
//! pattern = "*"                     every tool of every server
//!         | server "." tool         the first dot that is not escaped ends the server's name
//! server, tool = one or more characters, of which
//!     "*"    stands for any number of characters, none included
//!     "\."  "\*"  "\\"  stand for the character itself
//! ```
//!
//! `github.create_issue`, `github.*`, `github.get_*` and `*.search` are the usual ones. A server
//! `my.server` is written `my\.server.*`; dots in a tool's name need no escape. Both names have to
//! match from end to end, with regard to case. The names are compared apart, so that server `a`
//! with tool `b.c` is never taken for server `a.b` with tool `c`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use trunkline_gateway::PolicyTarget;

use super::rules::Rules;

/// The tools somebody may see and call. To be asked when tools are listed and when one is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    All,
    /// Those that one of the patterns matches; none if there is no pattern.
    Only(Vec<Pattern>),
    /// What policies leave of other grants.
    Within(Box<Self>, Rules),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    server: Glob,
    tool: Glob,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    #[error("a pattern is `server.tool`, `server.*`, `*.tool` or `*`; there is no `.` in this one")]
    NoDot,
    #[error("there is no server before the `.` at character {at}")]
    NoServer { at: usize },
    #[error("there is no tool behind the `.` at character {at}")]
    NoTool { at: usize },
    #[error("the `\\` at character {at} stands before none of `.`, `*` and `\\`")]
    Escape { at: usize },
    #[error("character {at} is a control character")]
    Control { at: usize },
    #[error("a pattern has at most {LONGEST} characters")]
    TooLong,
}

/// Longer than any server and tool in use; a bound for what is matched again and again.
const LONGEST: usize = 512;

impl Grants {
    pub fn allows(&self, server: &str, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| pattern.matches(server, tool)),
            Self::Within(grants, Rules(rules)) => {
                grants.allows(server, tool) && rules.shows(PolicyTarget::Tool { server, tool })
            }
        }
    }

    /// May any tool of this server be seen? Otherwise the server is of no concern.
    pub fn touches(&self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| pattern.server.matches(server)),
            Self::Within(grants, Rules(rules)) => grants.touches(server) && rules.touches(server),
        }
    }

    /// Every tool of this server, whatever it is called?
    pub fn all_of(&self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns
                .iter()
                .any(|pattern| pattern.server.matches(server) && pattern.tool.is_everything()),
            Self::Within(grants, Rules(rules)) => {
                grants.all_of(server) && rules.shows(PolicyTarget::Server(server))
            }
        }
    }

    /// The patterns of a key; `None`: it has none, and all tools.
    pub fn patterns(&self) -> Option<&[Pattern]> {
        match self {
            Self::All => None,
            Self::Only(patterns) => Some(patterns),
            Self::Within(grants, _) => grants.patterns(),
        }
    }

    /// What policies say; `None`: there are none.
    pub fn rules(&self) -> Option<&Rules> {
        match self {
            Self::All | Self::Only(_) => None,
            Self::Within(_, rules) => Some(rules),
        }
    }

    /// Every pattern of a list, or the place of the first bad one in it and what is wrong there.
    pub fn read<'a>(
        patterns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, (usize, BadPattern)> {
        let read = |(at, text): (usize, &str)| text.parse().map_err(|fault| (at, fault));
        patterns.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Self::Only)
    }
}

impl Pattern {
    pub fn matches(&self, server: &str, tool: &str) -> bool {
        self.server.matches(server) && self.tool.matches(tool)
    }
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        if text == "*" {
            return Ok(Self { server: Glob::any(), tool: Glob::any() });
        }
        if text.chars().count() > LONGEST {
            return Err(BadPattern::TooLong);
        }
        let mut server = None;
        let mut current = Glob(Vec::new());
        let mut characters = text.chars().zip(1..);
        while let Some((character, at)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((escaped @ ('.' | '*' | '\\'), _)) => {
                        current.0.push(GlobPiece::One(escaped));
                    }
                    _ => return Err(BadPattern::Escape { at }),
                },
                '*' => current.0.push(GlobPiece::Any),
                '.' if server.is_none() && current.0.is_empty() => {
                    return Err(BadPattern::NoServer { at });
                }
                '.' if server.is_none() => {
                    server = Some((std::mem::replace(&mut current, Glob(Vec::new())), at));
                }
                character if character.is_control() => return Err(BadPattern::Control { at }),
                character => current.0.push(GlobPiece::One(character)),
            }
        }
        match server {
            None => Err(BadPattern::NoDot),
            Some((_, at)) if current.0.is_empty() => Err(BadPattern::NoTool { at }),
            Some((server, _)) => Ok(Self { server, tool: current }),
        }
    }
}

/// In a form that reads back as the same pattern.
impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.server.write(f, &['.', '*', '\\'])?;
        f.write_str(".")?;
        self.tool.write(f, &['*', '\\'])
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Glob(Vec<GlobPiece>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlobPiece {
    One(char),
    Any,
}

impl Glob {
    fn any() -> Self {
        Self(vec![GlobPiece::Any])
    }

    fn is_everything(&self) -> bool {
        self.0.iter().all(|piece| *piece == GlobPiece::Any)
    }

    /// From end to end. When a character does not fit, the last `*` takes one more and the rest is
    /// tried again; earlier ones never need to, so that this is quadratic at worst.
    fn matches(&self, name: &str) -> bool {
        let (mut pieces, mut rest) = (self.0.as_slice(), name.chars());
        let mut retry = None;
        loop {
            match (pieces.split_first(), rest.clone().next()) {
                (None, None) => return true,
                (Some((GlobPiece::Any, behind)), _) => {
                    retry = Some((behind, rest.clone()));
                    pieces = behind;
                    continue;
                }
                (Some((GlobPiece::One(wanted), behind)), Some(found)) if *wanted == found => {
                    pieces = behind;
                    rest.next();
                    continue;
                }
                _ => {}
            }
            let Some((behind, mut from)) = retry.take() else { return false };
            if from.next().is_none() {
                return false;
            }
            (pieces, rest) = (behind, from.clone());
            retry = Some((behind, from));
        }
    }

    fn write(&self, f: &mut Formatter<'_>, escaped: &[char]) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                GlobPiece::Any => f.write_str("*")?,
                GlobPiece::One(character) if escaped.contains(character) => {
                    write!(f, "\\{character}")?;
                }
                GlobPiece::One(character) => write!(f, "{character}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"))
    }

    #[test]
    fn patterns_match_from_end_to_end() {
        for (text, server, tool, expected) in [
            ("*", "github", "create_issue", true),
            ("*.*", "github", "create_issue", true),
            ("github.*", "github", "create_issue", true),
            ("github.*", "github2", "create_issue", false),
            ("github.*", "my-github", "create_issue", false),
            ("github.create_issue", "github", "create_issue", true),
            ("github.create_issue", "github", "create_issues", false),
            ("github.create_issue", "github", "recreate_issue", false),
            ("github.create_issue", "gitlab", "create_issue", false),
            ("github.create_issue", "GitHub", "create_issue", false),
            ("*.search", "jira", "search", true),
            ("*.search", "jira", "research", false),
            ("github.get_*", "github", "get_", true),
            ("github.get_*", "github", "get_issue", true),
            ("github.get_*", "github", "set_get_", false),
            ("github.*_issue", "github", "create_issue", true),
            ("github.*_issue", "github", "create_issue_2", false),
            ("git*.*a*b*", "gitlab", "xxaxxbxx", true),
            ("git*.*a*b*", "gitlab", "xxbxxaxx", false),
            ("a.**b", "a", "bab", true),
            // what is special elsewhere is not here
            ("a.b?", "a", "bc", false),
            ("a.b?", "a", "b?", true),
            ("a.[bc]", "a", "b", false),
            ("a.b|c", "a", "b", false),
            // names with dots
            ("a.b.c", "a", "b.c", true),
            ("a.b.c", "a.b", "c", false),
            (r"a\.b.c", "a.b", "c", true),
            (r"a\.b.c", "a", "b.c", false),
            ("a.*", "a.b", "c", false),
            ("a.*", "a", "b.c", true),
            (r"a.\*", "a", "*", true),
            (r"a.\*", "a", "b", false),
            (r"a.\\", "a", "\\", true),
            ("a.ü*", "a", "übung", true),
        ] {
            assert_eq!(pattern(text).matches(server, tool), expected, "{text} {server} {tool}");
        }
    }

    #[test]
    fn bad_patterns_are_told_with_their_place() {
        let long = format!("a.{}", "b".repeat(LONGEST));
        for (text, expected) in [
            ("", BadPattern::NoDot),
            ("github", BadPattern::NoDot),
            ("**", BadPattern::NoDot),
            (r"a\.b", BadPattern::NoDot),
            (".", BadPattern::NoServer { at: 1 }),
            (".tool", BadPattern::NoServer { at: 1 }),
            ("server.", BadPattern::NoTool { at: 7 }),
            ("ü.", BadPattern::NoTool { at: 2 }),
            (r"a.b\c", BadPattern::Escape { at: 4 }),
            ("a.b\\", BadPattern::Escape { at: 4 }),
            ("a.b\n", BadPattern::Control { at: 4 }),
            (&long, BadPattern::TooLong),
        ] {
            assert_eq!(text.parse::<Pattern>(), Err(expected), "{text:?}");
        }
        let read = Grants::read(["a.b", "c."]);
        assert_eq!(read, Err((1, BadPattern::NoTool { at: 2 })));
    }

    #[test]
    fn grants_are_denied_unless_given() {
        let some = Grants::read(["github.get_*", "*.search"]).unwrap();
        let none = Grants::read([]).unwrap();
        for (grants, server, tool, allowed, touched) in [
            (&Grants::All, "x", "y", true, true),
            (&some, "github", "get_issue", true, true),
            (&some, "github", "create_issue", false, true),
            (&some, "jira", "search", true, true),
            (&some, "jira", "delete", false, true),
            (&none, "github", "get_issue", false, false),
            (&none, "", "", false, false),
        ] {
            assert_eq!(grants.allows(server, tool), allowed, "{server} {tool}");
            assert_eq!(grants.touches(server), touched, "{server}");
        }
        let one = Grants::read(["github.get_*"]).unwrap();
        assert!(one.touches("github") && !one.touches("gitlab"));
    }

    /// Tries everything a `*` could stand for.
    fn matches_slowly(pieces: &[GlobPiece], name: &[char]) -> bool {
        match pieces {
            [] => name.is_empty(),
            [GlobPiece::Any, rest @ ..] => {
                (0..=name.len()).any(|taken| matches_slowly(rest, &name[taken..]))
            }
            [GlobPiece::One(c), rest @ ..] => {
                name.first() == Some(c) && matches_slowly(rest, &name[1..])
            }
        }
    }

    proptest! {
        #[test]
        fn a_pattern_reads_back(text in r"([a*]|\\\*|\\\\){1,4}\.([a.*]|\\\*|\\\.){1,4}") {
            let read = pattern(&text);
            prop_assert_eq!(pattern(&read.to_string()), read);
        }

        #[test]
        fn matching_is_what_trying_everything_finds(glob in "[ab*]{0,7}", name in "[ab]{0,7}") {
            let piece = |c| if c == '*' { GlobPiece::Any } else { GlobPiece::One(c) };
            let glob = Glob(glob.chars().map(piece).collect());
            let letters: Vec<char> = name.chars().collect();
            prop_assert_eq!(glob.matches(&name), matches_slowly(&glob.0, &letters));
        }
    }
}
