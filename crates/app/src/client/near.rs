//! "Did you mean": finds the known names nearest to an unknown one.

use trunkline_catalog::config::letters_apart;

/// At most this many are worth asking about.
const MOST: usize = 3;
/// Names are compared up to here: a longer one is not a typing error.
const LONGEST: usize = 100;

/// The names nearest to `word`, nearest first: those that are `word` behind their server's prefix,
/// then those that differ in a letter or two.
pub(crate) fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = fold(word);
    let rated = names.into_iter().filter_map(|name| {
        let folded = fold(name);
        let part = || !wanted.is_empty() && has_part(name, word);
        let rate = if folded == wanted || part() { 0 } else { letters_apart(&wanted, &folded) };
        let allowed = (wanted.len().max(folded.len()) / 3).min(2);
        (rate <= allowed).then_some((rate, name))
    });
    let mut rated: Vec<_> = rated.collect();
    rated.sort_by_key(|(rate, _)| *rate);
    rated.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// ` (did you mean …?)`, or nothing.
pub(crate) fn question<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let near: Vec<String> =
        nearest(word, names).iter().map(|name| format!("`{}`", super::clean::line(name))).collect();
    match near.split_last() {
        None => String::new(),
        Some((only, [])) => format!(" (did you mean {only}?)"),
        Some((last, rest)) => format!(" (did you mean {} or {last}?)", rest.join(", ")),
    }
}

/// `echo` is the last part of `everything:echo`, `everything.echo` and `everything__echo`.
fn has_part(name: &str, word: &str) -> bool {
    let before = name.strip_suffix(word).unwrap_or_default();
    before.ends_with([':', '.', '/', '_'])
}

fn fold(word: &str) -> Vec<char> {
    let letters = word.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ':' | ' '));
    letters.flat_map(char::to_lowercase).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] =
        ["everything:echo", "everything:add", "files:read_file", "git:log", "git__log"];

    #[test]
    fn near_names_are_found() {
        let table: [(&str, &[&str]); 8] = [
            ("echo", &["everything:echo"]),
            ("everythng:echo", &["everything:echo"]),
            ("Everything:Echo", &["everything:echo"]),
            ("files:readfile", &["files:read_file"]),
            ("log", &["git:log", "git__log"]),
            ("weather:today", &[]),
            ("ho", &[]),
            ("", &[]),
        ];
        for (word, expected) in table {
            assert_eq!(nearest(word, NAMES), expected, "{word}");
        }
    }

    #[test]
    fn the_question_reads_well() {
        assert_eq!(question("log", NAMES), " (did you mean `git:log` or `git__log`?)");
        assert_eq!(question("echo", NAMES), " (did you mean `everything:echo`?)");
        assert_eq!(question("nothing", NAMES), "");
    }
}
