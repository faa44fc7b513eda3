//! Which black-box tests take turns: they get a process of their own, so that those that wait for
//! their turn keep none of the others from running.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source;

/// What they lock.
const LOCK: &str = "ONE_AT_A_TIME";

/// Their names, as the test program says them.
pub(super) fn tests() -> BTreeSet<String> {
    let sources = source::all().unwrap_or_default();
    let of_file = |file: &source::Source| {
        let module = module(&file.path.to_string_lossy())?;
        let names = taking_turns(&file.text);
        Some(names.into_iter().map(move |name| format!("{module}{name}")))
    };
    sources.iter().filter_map(of_file).flatten().collect()
}

/// `orphans::` for `tests/it/orphans.rs`.
fn module(path: &str) -> Option<String> {
    let inside = path.strip_prefix("tests/it/")?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    (inside != "main").then(|| format!("{}::", inside.replace('/', "::")))
}

/// The tests of a file that lock, or call a function of the file that does.
fn taking_turns(text: &str) -> Vec<String> {
    if !text.contains(LOCK) {
        return Vec::new();
    }
    let functions = functions(text.parse().unwrap_or_default());
    // Imported as another name, it is that name which is locked.
    let alias =
        text.split_once(&format!("{LOCK} as ")).and_then(|(_, rest)| rest.split(';').next());
    let mut locking: BTreeSet<&str> = [LOCK].into_iter().chain(alias).collect();
    loop {
        let before = locking.len();
        let locks = |function: &&Function| function.words.iter().any(|it| locking.contains(&**it));
        let names: Vec<&str> = functions.iter().filter(locks).map(|it| it.name.as_str()).collect();
        locking.extend(names);
        if locking.len() == before {
            break;
        }
    }
    let tests = functions.iter().filter(|it| it.is_test && locking.contains(it.name.as_str()));
    tests.map(|it| it.name.clone()).collect()
}

struct Function {
    name: String,
    is_test: bool,
    /// Every name in its body.
    words: BTreeSet<String>,
}

fn functions(tokens: TokenStream) -> Vec<Function> {
    let mut found = Vec::new();
    let (mut is_test, mut name) = (false, None);
    let mut is_next_the_name = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                is_test |= group.stream().to_string() == "test";
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                if let Some(name) = name.take() {
                    let mut words = BTreeSet::new();
                    collect(group.stream(), &mut words);
                    found.push(Function { name, is_test, words });
                }
                is_test = false;
            }
            TokenTree::Ident(word) if is_next_the_name => {
                name = Some(word.to_string());
                is_next_the_name = false;
            }
            TokenTree::Ident(word) => is_next_the_name = word == "fn",
            _ => {}
        }
    }
    found
}

fn collect(tokens: TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect(group.stream(), words),
            TokenTree::Ident(word) => drop(words.insert(word.to_string())),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_module() {
        for (path, expected) in [
            ("tests/it/orphans.rs", Some("orphans::")),
            ("tests/it/real/mod.rs", Some("real::")),
            ("tests/it/platform/scale.rs", Some("platform::scale::")),
            ("tests/it/main.rs", None),
            ("tests/src/room.rs", None),
        ] {
            assert_eq!(module(path).as_deref(), expected);
        }
    }

    #[test]
    fn a_test_takes_turns_if_it_or_what_it_calls_locks() {
        let text = "use crate::ONE_AT_A_TIME as TURN;\n\
                    #[test] fn a() { let _turn = TURN.lock(); }\n\
                    #[test] fn b() { for x in [1] { helper(x); } }\n\
                    #[test] fn c() { other(); }\n\
                    fn helper(x: u8) { deeper() }\n\
                    fn deeper() { crate::ONE_AT_A_TIME.lock(); }\n\
                    fn other() {}";
        assert_eq!(taking_turns(text), ["a", "b"]);
        assert!(taking_turns("#[test] fn a() {}").is_empty());
    }
}
