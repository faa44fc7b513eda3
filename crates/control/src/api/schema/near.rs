//! Which known word a misspelt one was meant to be.

use trunkline_catalog::config::letters_apart;

/// The nearest of the known words, if one is near enough to ask about. Case, `_` and `-` do not
/// count: `transportType` is `transport_type`.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = fold(word);
    let rated = known.into_iter().map(|known| {
        let folded = fold(known);
        let allowed = (word.len().max(folded.len()) / 3).min(2);
        (letters_apart(&word, &folded), allowed, known)
    });
    let near = rated.filter(|(distance, allowed, _)| distance <= allowed);
    near.min_by_key(|(distance, ..)| *distance).map(|(.., known)| known)
}

fn fold(word: &str) -> Vec<char> {
    let letters = word.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' '));
    letters.flat_map(char::to_lowercase).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_recognised_and_far_ones_are_not() {
        const KNOWN: [&str; 5] = ["name", "transport_type", "connection_config", "url", "headers"];
        for (word, expected) in [
            ("nmae", Some("name")),
            ("Name", Some("name")),
            ("transportType", Some("transport_type")),
            ("transport-typ", Some("transport_type")),
            ("connectionconfg", Some("connection_config")),
            ("uri", Some("url")),
            ("header", Some("headers")),
            ("timeout", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, KNOWN), expected, "{word}");
        }
    }
}
