//! `trunkline cache …`: what is remembered of servers, shown and forgotten.

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_gateway::{CachedListing, CachedRecord, KnownListings};

use crate::cli::{CacheArgs, CacheChoice, CacheCommand};
use crate::client::columns;
use crate::environment::Environment;
use crate::timestamp::rfc3339;
use crate::{FAILED, OK, console, listing_cache};

pub(crate) fn run(asked: &CacheArgs, environment: &Environment) -> u8 {
    let choice = match &asked.command {
        CacheCommand::Show(choice) | CacheCommand::Clear(choice) => choice,
    };
    let Some(listings) = listing_cache::listings(environment) else {
        let told = match choice.json {
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

fn show(listings: &KnownListings, choice: &CacheChoice) -> io::Result<u8> {
    let mut cached = listings.cached()?;
    if let Some(key) = &choice.server {
        cached.retain(|it| it.record.as_ref().is_some_and(|record| record.key == *key));
    }
    let directory = listings.directory().display().to_string();
    if choice.json {
        let servers: Vec<Value> = cached.iter().map(to_json).collect();
        let told = json!({ "directory": directory, "servers": servers });
        return Ok(console::out(&format!("{told}\n")));
    }
    if cached.is_empty() {
        let what = choice.server.as_ref().map(|key| format!(" of `{key}`")).unwrap_or_default();
        return Ok(console::problem(&format!("nothing{what} is remembered in {directory}\n"), OK));
    }
    let head =
        ["SERVER", "TOOLS", "RESOURCES", "TEMPLATES", "PROMPTS", "BYTES", "LAST SEEN", "WHO"];
    let rows: Vec<_> =
        std::iter::once(head.map(str::to_owned)).chain(cached.iter().map(row)).collect();
    let bytes: u64 = cached.iter().map(|it| it.bytes).sum();
    let table = columns(&rows, "", console::width());
    Ok(console::out(&format!("{table}\n{} servers, {bytes} bytes in {directory}\n", cached.len())))
}

fn clear(listings: &KnownListings, choice: &CacheChoice) -> io::Result<u8> {
    let removed = listings.clear(choice.server.as_deref())?;
    let directory = listings.directory().display().to_string();
    if choice.json {
        let told = json!({ "directory": directory, "removed": removed });
        return Ok(console::out(&format!("{told}\n")));
    }
    Ok(match (&choice.server, removed) {
        (Some(key), 0) => {
            console::problem(&format!("nothing of `{key}` is remembered in {directory}\n"), FAILED)
        }
        (_, removed) => console::out(&format!("{removed} servers forgotten in {directory}\n")),
    })
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
