//! `PUT /secrets/{name}`: the value of a secret.

use zeroize::Zeroizing;

use crate::api::schema::{TextFormat, request, text};
use crate::secrets::LONGEST_SECRET;

request! {
    /// A secret's value.
    #[refused("name": "is in the path")]
    pub struct PutSecret as "PutSecret" {
        /// Kept sealed and never shown. It may have line ends (a PEM key), but not where it is sent in a
        /// header. References in it are not resolved.
        #[example = "ghp_example"]
        pub value: Zeroizing<String> => text(1, LONGEST_SECRET, TextFormat::Secret),
    }
}

impl std::fmt::Debug for PutSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PutSecret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::input::Declared;
    use crate::api::problem::Problem;

    fn read(json: &str) -> Result<PutSecret, Problem> {
        let content_type = Some(&b"application/json"[..]);
        Declared { content_type, bytes: json.as_bytes() }.read()
    }

    #[test]
    fn a_value_is_taken_as_it_is_and_not_shown() {
        for value in ["x", " ", "a\nb\r\n", "${HOME} ${secret:x} ${", "***"] {
            let read = read(&serde_json::json!({ "value": value }).to_string()).unwrap();
            assert_eq!(*read.value, value);
            assert_eq!(format!("{read:?}"), "PutSecret(***)");
        }
    }

    #[test]
    fn what_is_no_value_is_refused_without_being_quoted() {
        let long = format!(r#"{{"value":"{}"}}"#, "c".repeat(LONGEST_SECRET + 1));
        for (json, expected) in [
            ("{}", "/value is missing"),
            (r#"{"value":""}"#, "/value must not be empty"),
            (r#"{"value":"canary\u0000"}"#, "/value has a NUL character"),
            (r#"{"value":["canary"]}"#, "/value must be"),
            (r#"{"value":"canary","name":"x"}"#, "/name is in the path"),
            (&long, "/value has more than 32000 characters"),
        ] {
            let problem = read(json).unwrap_err();
            assert_eq!(problem.status(), 422, "{}", problem.detail());
            assert!(problem.detail().contains(expected), "{}", problem.detail());
            assert!(!String::from_utf8_lossy(&problem.json()).contains("canary"));
        }
    }
}
