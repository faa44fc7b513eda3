//! Which names somebody may have meant who said one that is nobody's.

use crate::config::letters_apart;

/// Shorter ends are the end of too many names.
const SHORTEST_END: usize = 3;

/// The names that are near, the nearest first; equals in their own order. Spelling counts without
/// case and without whatever stands between words, so that a wrong separator is no letter apart; a
/// name without its server's key, or behind one too many, is near as well.
pub(super) fn nearest<'n>(said: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let said = Folded::of(said);
    if said.letters.is_empty() {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> =
        names.filter_map(|name| Some((said.apart(&Folded::of(name))?, name))).collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).collect()
}

struct Folded {
    letters: Vec<char>,
    /// Which letters there are at all: a cheap look before a dear one.
    seen: u64,
}

impl Folded {
    fn of(name: &str) -> Self {
        let letters = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
        let letters: Vec<char> = letters.take(LONGEST).collect();
        let seen = letters.iter().fold(0, |seen, c| seen | 1 << (u32::from(*c) % 64));
        Self { letters, seen }
    }

    /// `None`: they are not near.
    fn apart(&self, other: &Self) -> Option<usize> {
        let (said, name) = (&self.letters, &other.letters);
        if said == name {
            return Some(0);
        }
        let ends =
            |long: &[char], short: &[char]| short.len() >= SHORTEST_END && long.ends_with(short);
        if ends(name, said) || ends(said, name) {
            return Some(1);
        }
        let allowed = (said.len().max(name.len()) / 6).min(3);
        let differ = usize::try_from((self.seen ^ other.seen).count_ones()).unwrap_or(usize::MAX);
        if said.len().abs_diff(name.len()) > allowed || differ > 2 * allowed {
            return None;
        }
        Some(1 + letters_apart(said, name)).filter(|apart| *apart <= 1 + allowed)
    }
}

/// Names are shorter; what is said may be anything.
const LONGEST: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_wrong_separators_and_wrong_prefixes_are_understood() {
        let names = ["fs:read_file", "fs:write_file", "git:read_file", "git:log", "git:x"];
        for (said, expected) in [
            ("fs:raed_file", "fs:read_file"),
            ("fs__read_file", "fs:read_file"),
            ("FS.ReadFile", "fs:read_file"),
            ("read_file", "fs:read_file git:read_file"),
            ("mcp__trunkline__git_log", "git:log"),
            ("fs:read_fil", "fs:read_file"),
            ("x", ""),
            ("", ""),
            ("::", ""),
            ("send_mail", ""),
        ] {
            assert_eq!(nearest(said, names.into_iter()).join(" "), expected, "{said}");
        }
    }
}
