//! A process that writes to a store as its stdin says, for the tests: one that can be killed, that
//! has another disk, or that is one of several. Answers each line when it is done.
//!
//! `put NAME SIZE`, `flood NAME` (puts without end), `servers`, `verify`, `remove FILE`.

use std::io::{self, BufRead, Write};
use std::path::Path;

use trunkline_store::{
    AuditKey, AuditVerdict, Change, DesiredState, NewAudit, ServerRecord, Store, StoreError,
    StoreOptions, StoreUrl, Transport,
};

fn main() -> Result<(), String> {
    let path = std::env::args().nth(1).ok_or("usage: writer PATH")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(obey(Path::new(&path)))
}

async fn obey(path: &Path) -> Result<(), String> {
    let options = StoreOptions { audit_keys: vec![AuditKey::new([9; 32])] };
    let store = match Store::open(&StoreUrl::sqlite(path), options).await {
        Ok(store) => store,
        Err(error) => return say(&format!("{error:?}")),
    };
    say("open")?;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words.as_slice() {
            ["put", name, size] => spelt(put(&store, name, size.parse().unwrap_or(0)).await),
            ["flood", name] => flood(&store, name).await?,
            ["servers"] => spelt(names(&store).await),
            ["verify"] => match store.verify_audit().await {
                Ok(AuditVerdict::Verified { records, .. }) => format!("whole {records}"),
                other => format!("{other:?}"),
            },
            ["remove", file] => format!("{:?}", std::fs::remove_file(file)),
            _ => return Err(format!("what is `{line}`?")),
        };
        say(&answer)?;
    }
    store.close().await;
    Ok(())
}

/// Says the name of each server after it was acknowledged.
async fn flood(store: &Store, name: &str) -> Result<String, String> {
    for number in 0u64.. {
        let name = format!("{name}-{number}");
        match put(store, &name, 300).await {
            Ok(name) => say(&name)?,
            Err(error) => return Ok(format!("{error:?}")),
        }
    }
    Ok(String::new())
}

/// A server and the audit record that tells of it.
async fn put(store: &Store, name: &str, size: usize) -> Result<String, StoreError> {
    let server = ServerRecord {
        id: name.to_owned(),
        name: name.to_owned(),
        description: "x".repeat(size),
        transport: Transport::Stdio,
        config: "{}".to_owned(),
        auto_connect: false,
        wanted: DesiredState::Disconnected,
        health_check_url: None,
        created_at: 0,
        updated_at: 0,
        revision: 1,
    };
    let audit = NewAudit { action: format!("put {name}"), ..NewAudit::default() };
    store.commit(vec![Change::InsertServer(server)], vec![audit]).await?;
    Ok(name.to_owned())
}

async fn names(store: &Store) -> Result<String, StoreError> {
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let page = store.servers(&after, 1_000).await?;
        let Some(last) = page.last() else { return Ok(names.join(" ")) };
        after.clone_from(&last.name);
        names.extend(page.into_iter().map(|server| server.name));
    }
}

fn spelt(outcome: Result<String, StoreError>) -> String {
    outcome.unwrap_or_else(|error| format!("{error:?}"))
}

fn say(line: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| error.to_string())
}
