//! Splits a command line into words, as a shell does.

/// The words, or why the line is not one command.
pub(super) fn shell_words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    // `None`: between two words. An empty pair of quotes is a word, too.
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => word.push(letter),
                        None => return Err("a quote is not closed"),
                    }
                }
            }
            '"' => double_quoted(&mut letters, word.get_or_insert_default())?,
            '\\' => match letters.next() {
                // The line goes on below.
                Some('\n') => {}
                Some('\r') if letters.peek() == Some(&'\n') => drop(letters.next()),
                Some(letter) => word.get_or_insert_default().push(letter),
                None => {}
            },
            '\n' | '\r' | ';' | '|' | '&' | '<' | '>' => {
                let rest: String = letters.collect();
                if letter.is_whitespace() && rest.trim().is_empty() {
                    break;
                }
                return Err("there is more than one command in it");
            }
            blank if blank.is_whitespace() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

fn double_quoted(
    letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    word: &mut String,
) -> Result<(), &'static str> {
    loop {
        match letters.next() {
            Some('"') => return Ok(()),
            Some('\\') => match letters.next() {
                Some('\n') => {}
                Some(letter @ ('"' | '\\' | '$' | '`')) => word.push(letter),
                Some(letter) => word.extend(['\\', letter]),
                None => return Err("a quote is not closed"),
            },
            Some(letter) => word.push(letter),
            None => return Err("a quote is not closed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (line, expected) in [
            ("a  b\tc", &["a", "b", "c"][..]),
            (r#"a 'b c' "d \" $e" f\ g"#, &["a", "b c", "d \" $e", "f g"]),
            ("a \\\n  b\n", &["a", "b"]),
            ("a \\\r\n  b", &["a", "b"]),
            ("a '' x'y'z", &["a", "", "xyz"]),
            ("", &[]),
        ] {
            assert_eq!(shell_words(line).unwrap(), expected, "{line}");
        }
        for line in ["a 'b", "a \"b", "a && b", "a | b", "a\nb", "a; b", "a > b"] {
            assert!(shell_words(line).is_err(), "{line}");
        }
    }
}
