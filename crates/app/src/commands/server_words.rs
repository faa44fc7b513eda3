//! Prints what a server of shared runtimes wrote to its standard error, for `trunkline logs SERVER`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::Logs;
use crate::shared::Ask;
use crate::shared::control::{RunningRuntime, Runtimes};
use crate::{FAILED, OK, console};

/// How often is looked for something new.
const PAUSE: Duration = Duration::from_millis(500);

/// A process of the server: the runtime, and the client and its own process where it is not shared.
type Writer = (u64, Option<u64>, Option<u64>);

/// Prints what a server has written in each of these runtimes, and goes on if that is asked for.
pub(super) fn print_stderr(
    asked: &Logs,
    server: &str,
    found: &Runtimes,
    with_it: &[&RunningRuntime],
) -> u8 {
    let mut shown: BTreeMap<Writer, Vec<String>> = BTreeMap::new();
    let mut has_written = false;
    loop {
        let mut now = BTreeMap::new();
        for runtime in with_it {
            let answer = match found.ask(&runtime.id, Ask::Logs(server.to_owned())) {
                Ok(Some(answer)) => answer,
                Ok(None) if asked.follow => return OK, // it has ended
                Ok(None) => continue,
                Err(why) => return console::problem(&format!("error: {why}\n"), FAILED),
            };
            let pid = runtime.number("pid");
            let is_first = !shown.keys().any(|(of, ..)| *of == pid);
            if with_it.len() > 1 && is_first && !asked.at.json {
                console::problem(&format!("runtime {pid}, {}:\n", runtime.text("config")), OK);
            }
            for (writer, lines) in written(pid, &answer) {
                let before = shown.get(&writer).map(Vec::as_slice).unwrap_or_default();
                let text = new_lines(asked, server, writer, behind(before, &lines));
                has_written |= !lines.is_empty();
                if !text.is_empty() && !console::reaches(&text) {
                    return OK;
                }
                now.insert(writer, lines);
            }
        }
        if !asked.follow {
            break;
        }
        shown = now; // without those that have ended
        std::thread::park_timeout(PAUSE);
    }
    if !has_written {
        let what = crate::client::line(server);
        console::problem(
            &format!("server `{what}` has written nothing to its standard error\n"),
            OK,
        );
    }
    OK
}

/// What each process of the server has written.
fn written(runtime: u64, answer: &Value) -> Vec<(Writer, Vec<String>)> {
    let lines = |of: &Value| {
        let lines = of.get("lines").and_then(Value::as_array).into_iter().flatten();
        lines.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_u64);
    let own = answer.get("processes").and_then(Value::as_array).into_iter().flatten();
    let own = own.map(|of| {
        // Of a client that is not known, its process alone tells it from others.
        ((runtime, Some(number(of, "client").unwrap_or_default()), number(of, "pid")), lines(of))
    });
    std::iter::once(((runtime, None, None), lines(answer))).chain(own).collect()
}

/// The last of these lines, as they are printed: what a client has for itself says which client.
fn new_lines(asked: &Logs, server: &str, (runtime, client, pid): Writer, new: &[String]) -> String {
    let new = new.get(new.len().saturating_sub(usize::from(asked.lines))..).unwrap_or_default();
    let one = |text: &String| match (asked.at.json, client) {
        (true, None) => json!({ "server": server, "runtime": runtime, "line": text }).to_string(),
        (true, Some(client)) => json!({
            "server": server, "runtime": runtime, "client": client, "pid": pid, "line": text
        })
        .to_string(),
        (false, None) => crate::client::line(text),
        (false, Some(client)) => format!("client {client}: {}", crate::client::line(text)),
    };
    new.iter().map(|text| one(text) + "\n").collect()
}

/// The lines that are new, of a window that has moved on: behind its longest end that was shown before.
fn behind<'l>(shown: &[String], now: &'l [String]) -> &'l [String] {
    let overlap = (0..=shown.len().min(now.len())).rev().find(|count| {
        let end = shown.get(shown.len() - count..);
        end.is_some() && end == now.get(..*count)
    });
    now.get(overlap.unwrap_or_default()..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_were_not_shown_are_new() {
        let lines = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        for (shown, now, new) in [
            ("", "abc", "abc"),
            ("abc", "abc", ""),
            ("abc", "bcd", "d"),
            ("ab", "xy", "xy"),
            ("aa", "aab", "b"),
        ] {
            assert_eq!(behind(&lines(shown), &lines(now)), lines(new), "{shown} {now}");
        }
    }
}
