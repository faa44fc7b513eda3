//! Writes results to the terminal, a pipe or files.

use std::path::Path;

use crate::client::{Part, SavedFile, block, text_of, written};
use crate::commands::one_shot::CommandError;
use crate::{OK, console};

/// Prints the parts of a result. On a terminal nothing of it can control the terminal; elsewhere
/// text goes as it is.
pub(super) fn print(parts: &[Part]) -> u8 {
    let text = text_of(parts);
    if console::stdout_is_terminal() { console::out(&block(&text)) } else { console::out(&text) }
}

/// Prints what was read: to the byte, unless a terminal would have to show it.
pub(super) fn print_exact(parts: &[Part]) -> u8 {
    if console::stdout_is_terminal() {
        return print(parts);
    }
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => out.extend_from_slice(text.as_bytes()),
            Part::Data { bytes: Some(bytes), .. } => out.extend_from_slice(bytes),
            other => out.extend_from_slice(text_of(std::slice::from_ref(other)).as_bytes()),
        }
    }
    console::out_bytes(&out)
}

/// Writes the data of a result (else its text) to files. Returns what is left for the screen.
pub(super) fn save(parts: Vec<Part>, output: &Path) -> Result<Vec<Part>, CommandError> {
    let (files, rest) = written(parts, output);
    if files.is_empty() {
        print(&rest);
        let file = output.display();
        return Err(CommandError::Failed(format!(
            "the result holds nothing that could be written to {file}, which stays as it was"
        )));
    }
    for SavedFile { path, bytes, mime } in files {
        std::fs::write(&path, &bytes).map_err(|error| {
            CommandError::Failed(format!("{} cannot be written: {error}", path.display()))
        })?;
        let kind = if mime.is_empty() { String::new() } else { format!(" ({mime})") };
        console::problem(&format!("wrote {} bytes to {}{kind}\n", bytes.len(), path.display()), OK);
    }
    Ok(rest)
}
