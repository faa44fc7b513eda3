//! How deep and how long a policy may be: Cedar reads, validates and evaluates by recursion, and a deep text would
//! overflow the stack, which ends the whole process.

/// People nest a few levels. Cedar's parser takes about ten kilobytes of stack for each in a debug build.
const DEEPEST: usize = 50;
/// `a && b && c` is as deep a tree as it has operators. Lists of values have none, and may be long.
const MOST_OPERATORS: usize = 1_000;

/// The line of the first policy that is too deep or too long, and what is wrong with it.
pub(super) fn beyond(text: &str) -> Option<(usize, String)> {
    let (mut depth, mut operators, mut line) = (0_usize, 0_usize, 1_usize);
    let mut rest = text.chars().peekable();
    let mut word = String::new();
    while let Some(at) = rest.next() {
        if at.is_alphanumeric() || at == '_' {
            word.push(at);
            continue;
        }
        operators += usize::from(std::mem::take(&mut word) == "if");
        match at {
            '\n' => line += 1,
            '"' => line += skip_text(&mut rest),
            '/' if rest.peek() == Some(&'/') => {
                while rest.next_if(|next| *next != '\n').is_some() {}
            }
            '(' | '[' | '{' => {
                // `x["a"]["b"]` is one level in the text and two in the tree; so is each clause behind another.
                operators += usize::from(at == '[' || (at == '{' && depth == 0));
                depth += 1;
            }
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => operators = 0,
            '&' | '|' => {
                operators += 1;
                rest.next_if_eq(&at);
            }
            '.' | '+' | '-' | '*' | '!' | '<' | '>' | '=' => operators += 1,
            _ => {}
        }
        if depth > DEEPEST {
            return Some((line, format!("is nested deeper than {DEEPEST} levels")));
        }
        if operators > MOST_OPERATORS {
            let what = format!("has more than {MOST_OPERATORS} operators; write several policies");
            return Some((line, what));
        }
    }
    None
}

/// Skips a text up to its end; how many lines that were.
fn skip_text(rest: &mut impl Iterator<Item = char>) -> usize {
    let mut lines = 0;
    while let Some(at) = rest.next() {
        match at {
            '\n' => lines += 1,
            '\\' => drop(rest.next()),
            '"' => break,
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(condition: &str) -> String {
        format!("permit(principal, action, resource) when {{\n{condition}\n}};\n")
    }

    #[test]
    fn what_people_write_is_within_the_bounds() {
        let names = vec!["\"a-name.of-one/person (x)\""; 5_000].join(", ");
        let long_list = policy(&format!("[{names}].contains(principal.name)"));
        let commented = format!("// {}\n{}", "((((&&||".repeat(500), policy("true"));
        let many = policy("principal.role == \"a\" && !(context has b)").repeat(500);
        for text in [long_list, commented, many, policy(&"(".repeat(49)), String::new()] {
            assert_eq!(beyond(&text), None, "{text:.80}");
        }
    }

    #[test]
    fn what_would_overflow_the_stack_is_named_with_its_line() {
        let deep = |open: &str| policy(&open.repeat(3_000));
        for (text, line) in [
            (deep("("), 2),
            (deep("["), 2),
            (deep("{a:"), 2),
            (deep("if a then b else "), 2),
            (deep("true && "), 2),
            (deep("1 + "), 2),
            (
                format!("permit(principal, action, resource) {};", "when { true }\n".repeat(3_000)),
                1_001,
            ),
            (policy(&format!("context{}", ".a".repeat(3_000))), 2),
            (policy(&format!("context{}", "[\"a\"]".repeat(3_000))), 2),
            (format!("{}{}", policy("\"a\n\\\"b\" == \"\""), deep("(")), 6),
        ] {
            assert_eq!(beyond(&text).map(|(line, _)| line), Some(line), "{text:.80}");
        }
    }
}
