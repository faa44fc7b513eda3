//! What the API says is wrong with a server, in the words of the form: at a field, with what to do there.
//! Pure.

use crate::api_client::{ApiError, Mistake};

/// Rewrites the API's mistakes for a form: each stands at its field, if it has one.
pub(super) fn in_words(mut trouble: ApiError) -> ApiError {
    match trouble.kind.as_str() {
        "name-taken" => {
            let message = "is taken by another server".to_owned();
            trouble.mistakes.push(Mistake { pointer: "/name".to_owned(), message, hint: None });
        }
        "stale" => {
            let words = "Somebody has changed this server since you opened this page. Load it \
                again and repeat your change.";
            trouble = ApiError::new(trouble.status, "Not saved", words, "");
        }
        _ => {}
    }
    if trouble.mistakes.iter().any(is_left_behind) {
        // It is said at each field.
        trouble.hint.clear();
    }
    trouble.mistakes = trouble.mistakes.into_iter().map(at_its_field).collect();
    trouble
}

/// How the API says that a value is not sent to another place than the one it was given for.
const GIVE_ANEW: &str = "give its value anew in the same request, or null";

fn is_left_behind(mistake: &Mistake) -> bool {
    mistake.message.contains(GIVE_ANEW)
}

fn at_its_field(mut mistake: Mistake) -> Mistake {
    if mistake.pointer == "/connection_config"
        && let Some(field) = named_field(&mistake.message)
    {
        field.clone_into(&mut mistake.pointer);
    }
    for number in ["a whole number", "a number"] {
        if let Some(rest) = mistake.message.strip_prefix(&format!("must be {number}")) {
            let range = rest.split(',').next().unwrap_or_default();
            mistake.message = format!("Enter {number}{range}");
        }
    }
    let advice = match mistake.pointer.starts_with("/connection_config") {
        true => "enter its value again, or remove its line",
        false => "an admin has to set it over the API",
    };
    mistake.message = mistake.message.replace(GIVE_ANEW, advice);
    mistake
}

/// The field that a message about the whole connection names: what refers to variables and secrets is
/// complained about in words alone.
fn named_field(message: &str) -> Option<&'static str> {
    let fields = [
        ("the header `", "/connection_config/headers"),
        ("the URL of the health check", "/health_check_url"),
        ("the URL", "/connection_config/url"),
        ("the working directory", "/connection_config/cwd"),
        ("the command", "/connection_config/command"),
        ("argument ", "/connection_config/args"),
        ("the variable `", "/connection_config/env"),
    ];
    // `… (in PLACE)`, `… in PLACE is no reference`, or `PLACE cannot be used`.
    let places = message.match_indices("in ").map(|(at, _)| at + "in ".len()).chain([0]);
    let mut named = places.filter_map(|at| {
        let place = message.get(at..)?;
        fields.iter().find(|(words, _)| place.starts_with(words)).map(|(_, field)| *field)
    });
    named.next()
}

/// A sentence about a field: what is wrong (`below`: with which line or name in it).
pub(super) fn complaint(label: &str, below: &str, message: &str) -> String {
    let below = below.trim_start_matches('/').replace("~1", "/").replace("~0", "~");
    let subject = match below.parse::<usize>() {
        Ok(line) => format!("{label}, line {},", line + 1),
        Err(_) if below.is_empty() => label.to_owned(),
        Err(_) => format!("`{below}`"),
    };
    let is_predicate =
        ["is ", "was ", "are ", "must ", "has ", "needs ", "names ", "takes ", "does ", "cannot "]
            .iter()
            .any(|verb| message.starts_with(verb));
    match is_predicate {
        true => format!("{subject} {message}"),
        false => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_name_fields_and_lines_and_no_pointers() {
        for (below, message, expected) in [
            ("", "must not be empty", "Headers must not be empty"),
            ("", "line 2 has no `:`", "line 2 has no `:`"),
            ("/X-Key", "is too long", "`X-Key` is too long"),
            ("/a~1b", "is too long", "`a/b` is too long"),
            ("/0", "must not be empty", "Headers, line 1, must not be empty"),
        ] {
            assert_eq!(complaint("Headers", below, message), expected);
        }
    }

    #[test]
    fn what_is_said_about_the_whole_connection_is_marked_at_the_field_it_names() {
        for (message, field) in [
            ("the variable `A` is not set (in the header `X`)", "/connection_config/headers"),
            ("the variable `A` is not set (in the variable `X`)", "/connection_config/env"),
            ("the variable `A` is not set (in argument 2)", "/connection_config/args"),
            ("the variable `A` is not set (in the command)", "/connection_config/command"),
            ("there is no secret `A` (in the URL)", "/connection_config/url"),
            (
                "the secret `A` may not be used in the working directory: everybody",
                "/connection_config/cwd",
            ),
            ("a `${…}` in the header `X` is not a reference", "/connection_config/headers"),
            (
                "the header `X` cannot be used with the values of its references: x",
                "/connection_config/headers",
            ),
            ("the variable `A` is not set (in the URL of the health check)", "/health_check_url"),
            ("something else", "/connection_config"),
        ] {
            let mistake = Mistake {
                pointer: "/connection_config".to_owned(),
                message: message.to_owned(),
                hint: None,
            };
            assert_eq!(at_its_field(mistake).pointer, field, "{message}");
        }
    }
}
