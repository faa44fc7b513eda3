//! Clippy as the compiler of our crates, and what it has to say.

use std::path::PathBuf;
use std::process::Command;

use crate::run;

/// What `rustup` calls it.
const COMPONENT: &str = "clippy";

/// Clippy's driver, which compiles what it lints; it is installed if it is missing.
pub(super) fn driver() -> Result<PathBuf, String> {
    let found = || {
        let output = Command::new("rustc").args(["--print", "sysroot"]).output();
        let output = output.map_err(|error| format!("cannot run rustc: {error}"))?;
        let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let driver = root.join("bin/clippy-driver");
        Ok::<_, String>(driver.exists().then_some(driver))
    };
    if let Some(driver) = found()? {
        return Ok(driver);
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", COMPONENT]);
    run::checked(&mut rustup, &format!("rustup component add {COMPONENT}"))?;
    found()?
        .ok_or_else(|| format!("there is no clippy-driver: install the component `{COMPONENT}`"))
}

/// What the compiler says of a crate of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// As it is shown to people.
    pub(super) rendered: String,
    pub(super) is_warning: bool,
}

/// A line of cargo's that holds one.
pub(super) fn message(line: &str) -> Option<Message> {
    if !line.starts_with("{\"reason\":\"compiler-message\"") {
        return None;
    }
    let (_, rest) = line.split_once("\"rendered\":\"")?;
    let rendered = unescaped(rest);
    // "1 warning emitted" has no place in the source; the level of the others stands before it.
    let is_summary = line.contains("\"spans\":[]") && rendered.contains(" emitted");
    let is_warning = line.contains("\"level\":\"warning\"") && !is_summary;
    (!is_summary).then_some(Message { rendered, is_warning })
}

/// A JSON string up to its closing quote.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next().filter(|char| *char != '"') {
        if char != '\\' {
            plain.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                plain.extend(code.and_then(char::from_u32));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_shown_and_counted_and_their_summary_is_not() {
        let line = r#"{"reason":"compiler-message","message":{"rendered":"warning: \u001b[1munused\u001b[0m\n \"x\"\n","$message_type":"diagnostic","level":"warning","spans":[{"line_start":1}]}}"#;
        let expected = "warning: \u{1b}[1munused\u{1b}[0m\n \"x\"\n".to_owned();
        assert_eq!(message(line), Some(Message { rendered: expected, is_warning: true }));
        let error = line.replace("\"level\":\"warning\"", "\"level\":\"error\"");
        assert!(!message(&error).unwrap().is_warning);
        let summary = r#"{"reason":"compiler-message","message":{"rendered":"warning: 2 warnings emitted\n","level":"warning","spans":[]}}"#;
        assert_eq!(message(summary), None);
        assert_eq!(message(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
