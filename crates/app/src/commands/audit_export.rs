//! `trunkline audit export`: records as lines of JSON or CSV, to standard output or to a file that can be gone on with.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::Value;
use trunkline_control::api::handle::audit_json;
use trunkline_control::services::{AuditSpan, export_audit};
use trunkline_store::AuditRecord;

use crate::cli::{ExportAudit, ExportFormat};
use crate::commands::platform::PlatformPaths;
use crate::commands::runtime::{block_on, broke};
use crate::environment::Environment;
use crate::{FAILED, OK, USAGE, console};

/// As REST names them, in its order.
const COLUMNS: [&str; 16] = [
    "seq",
    "at",
    "principal",
    "credential_id",
    "address",
    "action",
    "server_id",
    "server_name",
    "tool",
    "argument_hash",
    "outcome",
    "detail",
    "duration_us",
    "request_id",
    "count",
    "hash",
];

/// Where records are written to.
struct ExportTarget {
    /// `None`: standard output.
    file: Option<File>,
    /// The record behind which it begins.
    after: Option<i64>,
    is_empty: bool,
}

pub(super) fn export(asked: &ExportAudit, environment: &Environment) -> u8 {
    let kept = match PlatformPaths::at(&asked.place, environment) {
        Ok(kept) => kept,
        Err(what) => return console::problem(&format!("error: {what}\n"), USAGE),
    };
    let opened = match &asked.output {
        None => Ok(ExportTarget { file: None, after: None, is_empty: true }),
        Some(path) => open(path, asked).map_err(|what| format!("{}: {what}", path.display())),
    };
    let mut target = match opened {
        Ok(target) => target,
        Err(what) => return console::problem(&format!("error: {what}\n"), FAILED),
    };
    let mut code = OK;
    if target.is_empty && asked.format == ExportFormat::Csv {
        code = write(&mut target, &format!("{}\n", COLUMNS.join(",")));
    }
    let span = AuditSpan { since: asked.since, until: asked.until, after: target.after };
    let take = |records: &[AuditRecord]| {
        let line = |record| match asked.format {
            ExportFormat::Ndjson => format!("{}\n", audit_json(record)),
            ExportFormat::Csv => csv(&audit_json(record)),
        };
        code = write(&mut target, &records.iter().map(line).collect::<String>());
        code == OK
    };
    match block_on(export_audit(&kept.store, &kept.key, span, take)) {
        Ok(Ok(())) => code,
        Ok(Err(error)) => console::problem(&format!("error: {error}\n"), FAILED),
        Err(error) => broke(&error),
    }
}

fn write(target: &mut ExportTarget, text: &str) -> u8 {
    match &mut target.file {
        None => console::out(text),
        Some(file) => match file.write_all(text.as_bytes()) {
            Ok(()) => OK,
            Err(error) => console::problem(&format!("error: {error}\n"), FAILED),
        },
    }
}

fn open(path: &Path, asked: &ExportAudit) -> Result<ExportTarget, String> {
    let mut options = OpenOptions::new();
    options.append(true).mode(0o600);
    if !asked.resume {
        let file = options.create_new(true).open(path).map_err(|error| error.to_string())?;
        return Ok(ExportTarget { file: Some(file), after: None, is_empty: true });
    }
    let file = options.create(true).open(path).map_err(|error| error.to_string())?;
    let (length, last) = tail(path).map_err(|error| error.to_string())?;
    // What was being written when it was interrupted is written anew.
    file.set_len(length).map_err(|error| error.to_string())?;
    let after = match last {
        None => None,
        Some(line) => Some(number(&line, asked.format).ok_or(
            "its last line is no record of this format: go on with the file that an export has written",
        )?),
    };
    Ok(ExportTarget { file: Some(file), after: after.flatten(), is_empty: length == 0 })
}

/// How long a file is up to the end of its last whole record, and that record.
fn tail(path: &Path) -> io::Result<(u64, Option<String>)> {
    let mut lines = BufReader::new(File::open(path)?);
    let (mut length, mut begun, mut record, mut last) = (0, 0, String::new(), None);
    loop {
        let read = lines.read_line(&mut record)?;
        begun += read as u64;
        if read == 0 || !record.ends_with('\n') {
            return Ok((length, last));
        }
        // A field of CSV may have line ends: then its quotes are not closed yet.
        if record.matches('"').count() % 2 == 0 {
            length += begun;
            begun = 0;
            last = Some(std::mem::take(&mut record));
        }
    }
}

/// The record's number; `Some(None)`: it is the line of names.
fn number(line: &str, format: ExportFormat) -> Option<Option<i64>> {
    match format {
        ExportFormat::Ndjson => {
            let record: Value = serde_json::from_str(line).ok()?;
            record.get("seq").and_then(Value::as_i64).map(Some)
        }
        ExportFormat::Csv => match line.split(',').next()? {
            "seq" => Some(None),
            seq => seq.parse().ok().map(Some),
        },
    }
}

/// RFC 4180. A text that a spreadsheet would compute gets an apostrophe: callers and servers choose names.
fn csv(record: &Value) -> String {
    let field = |column: &&str| match record.get(*column).unwrap_or(&Value::Null) {
        Value::Null => String::new(),
        Value::String(text) => {
            let text = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
                true => format!("'{text}"),
                false => text.clone(),
            };
            match text.contains(['"', ',', '\n', '\r']) {
                true => format!("\"{}\"", text.replace('"', "\"\"")),
                false => text,
            }
        }
        other => other.to_string(),
    };
    format!("{}\n", COLUMNS.iter().map(field).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_quoted_where_it_has_to_be() {
        let record =
            json!({"seq": 7, "at": "t", "tool": "a,b", "detail": "said \"no\"\n", "count": null});
        let expected = "7,t,,,,,,,\"a,b\",,,\"said \"\"no\"\"\n\",,,,\n";
        assert_eq!(csv(&record), expected);
        let record =
            json!({"seq": -7, "tool": "=HYPERLINK(\"x\")", "detail": "-1", "outcome": "a=b"});
        let expected = "-7,,,,,,,,\"'=HYPERLINK(\"\"x\"\")\",,a=b,'-1,,,,\n";
        assert_eq!(csv(&record), expected);
    }

    #[test]
    fn the_last_record_of_a_line_is_found() {
        for (line, format, expected) in [
            ("{\"seq\":9}\n", ExportFormat::Ndjson, Some(Some(9))),
            ("seq,at\n", ExportFormat::Csv, Some(None)),
            ("12,t,\n", ExportFormat::Csv, Some(Some(12))),
            ("{}\n", ExportFormat::Ndjson, None),
            ("hello\n", ExportFormat::Csv, None),
        ] {
            assert_eq!(number(line, format), expected, "{line}");
        }
    }
}
