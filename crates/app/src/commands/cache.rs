//! `trunkline cache …`: what is remembered of servers, shown and forgotten.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_gateway::{CachedListing, CachedRecord, ListingFiles};

use crate::cli::{CacheArgs, CacheClear, CacheCommand, CacheShow};
use crate::client::{columns, did_you_mean, line};
use crate::environment::Environment;
use crate::timestamp::rfc3339;
use crate::{FAILED, OK, console, listing_cache};

pub(crate) fn run(asked: &CacheArgs, environment: &Environment) -> u8 {
    let in_json = match &asked.command {
        CacheCommand::Show(choice) => choice.json,
        CacheCommand::Clear(choice) => choice.json,
    };
    let Some(listings) = listing_cache::listings(environment) else {
        let told = match in_json {
            true => console::out("{\"directory\":null,\"servers\":[]}\n"),
            false => OK,
        };
        return console::problem("nothing is remembered: TRUNKLINE_CACHE=off, or no home\n", told);
    };
    let done = match &asked.command {
        CacheCommand::Show(choice) => show(&listings, choice),
        CacheCommand::Clear(choice) => clear(&listings, choice),
    };
    done.unwrap_or_else(|error| {
        let directory = listings.directory().display();
        console::problem(&format!("error: {directory}: {error}\n"), FAILED)
    })
}

fn show(listings: &ListingFiles, choice: &CacheShow) -> io::Result<u8> {
    let mut cached = listings.cached()?;
    if let Some(key) = &choice.server {
        cached.retain(|it| it.record.as_ref().is_some_and(|record| record.key == *key));
    }
    let directory = listings.directory().display().to_string();
    if let (Some(key), true) = (&choice.server, cached.is_empty()) {
        let known = listings.cached()?;
        let why = unknown(std::slice::from_ref(key), &names(&known)).unwrap_or_default();
        return Ok(console::problem(&format!("{why} in {directory}\n"), FAILED));
    }
    if choice.json {
        let servers: Vec<Value> = cached.iter().map(to_json).collect();
        let told = json!({ "directory": directory, "servers": servers });
        return Ok(console::out(&format!("{told}\n")));
    }
    if cached.is_empty() {
        return Ok(console::problem(&format!("nothing is remembered in {directory}\n"), OK));
    }
    let head =
        ["SERVER", "TOOLS", "RESOURCES", "TEMPLATES", "PROMPTS", "BYTES", "LAST SEEN", "WHO"];
    let rows: Vec<_> =
        std::iter::once(head.map(str::to_owned)).chain(cached.iter().map(row)).collect();
    let bytes: u64 = cached.iter().map(|it| it.bytes).sum();
    let table = columns(&rows, "", console::width());
    Ok(console::out(&format!("{table}\n{} servers, {bytes} bytes in {directory}\n", cached.len())))
}

fn clear(listings: &ListingFiles, choice: &CacheClear) -> io::Result<u8> {
    let directory = listings.directory().display().to_string();
    let removed = match &choice.servers[..] {
        [] => listings.clear(None)?,
        servers => {
            let cached = listings.cached()?;
            // Before anything is removed: who has mistyped one name gives the whole command again.
            if let Some(why) = unknown(servers, &names(&cached)) {
                let why = format!("{why} in {directory}\nnothing was forgotten\n");
                return Ok(console::problem(&why, FAILED));
            }
            let mut removed = 0;
            for server in servers {
                removed += listings.clear(Some(server))?;
            }
            removed
        }
    };
    if choice.json {
        let told = json!({ "directory": directory, "removed": removed });
        return Ok(console::out(&format!("{told}\n")));
    }
    Ok(console::out(&format!("{removed} servers forgotten in {directory}\n")))
}

/// The servers of which something is remembered.
fn names(cached: &[CachedListing]) -> BTreeSet<&str> {
    cached.iter().filter_map(|it| Some(it.record.as_ref()?.key.as_str())).collect()
}

/// What is wrong with the names that are not known, and which are; `None`: all are known.
fn unknown(names: &[String], known: &BTreeSet<&str>) -> Option<String> {
    let unknown: BTreeSet<&str> =
        names.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
    if unknown.is_empty() {
        return None;
    }
    let mut told = String::new();
    for name in unknown {
        let near = did_you_mean(name, known.iter().copied());
        told += &format!("error: nothing of `{}` is remembered{near}\n", line(name));
    }
    let all: Vec<String> = known.iter().map(|name| format!("`{}`", line(name))).collect();
    told += match all.is_empty() {
        true => "no server is remembered",
        false => "remembered are ",
    };
    Some(told + &all.join(", "))
}

fn to_json(cached: &CachedListing) -> Value {
    let file = cached.path.display().to_string();
    let Some(record) = &cached.record else {
        return json!({ "file": file, "bytes": cached.bytes, "damaged": true });
    };
    let counts = record.counts.map(|[tools, resources, templates, prompts]| {
        json!({ "tools": tools, "resources": resources, "templates": templates, "prompts": prompts })
    });
    json!({
        "server": record.key,
        "identity": record.identity,
        "protocol": record.protocol,
        "client_capabilities": record.client_capabilities,
        "lists": counts,
        "first_seen": moment(record.first_seen),
        "last_seen": moment(record.last_seen),
        "file": file,
        "bytes": cached.bytes,
        "damaged": false,
    })
}

fn row(cached: &CachedListing) -> [String; 8] {
    let bytes = cached.bytes.to_string();
    let dash = || "-".to_owned();
    let Some(CachedRecord { key, identity, counts, last_seen, .. }) = &cached.record else {
        let [a, b, c, d, e] = [(); 5].map(|()| dash());
        return ["(damaged)".to_owned(), a, b, c, d, bytes, e, cached.path.display().to_string()];
    };
    let [tools, resources, templates, prompts] =
        counts.map_or_else(|| [(); 4].map(|()| dash()), |counts| counts.map(|it| it.to_string()));
    let who = identity.clone().unwrap_or_else(dash);
    let clean = |text: &str| text.replace(char::is_control, " ");
    let seen = moment(*last_seen);
    [clean(key), tools, resources, templates, prompts, bytes, seen, clean(&who)]
}

fn moment(seconds: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_secs(seconds.min(LATEST)))
}

/// The end of the year 9999: a damaged record must not make an impossible date.
const LATEST: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_known_are_told_with_those_that_are() {
        let known = BTreeSet::from(["files", "git", "github"]);
        for (names, expected) in [
            (&["git"][..], None),
            (&["git", "files", "git"], None),
            (
                &["git", "githb"],
                Some(
                    "error: nothing of `githb` is remembered (did you mean `github`?)\n\
                     remembered are `files`, `git`, `github`",
                ),
            ),
            (
                &["weather", "file", "file"],
                Some(
                    "error: nothing of `file` is remembered (did you mean `files`?)\n\
                     error: nothing of `weather` is remembered\n\
                     remembered are `files`, `git`, `github`",
                ),
            ),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(unknown(&names, &known).as_deref(), expected, "{names:?}");
        }
        let none = unknown(&["git".to_owned()], &BTreeSet::new());
        let expected = "error: nothing of `git` is remembered\nno server is remembered";
        assert_eq!(none.as_deref(), Some(expected));
    }
}
