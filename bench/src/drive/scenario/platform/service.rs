//! A platform without servers, and children over HTTP to register with it; both end with their owner.

use crate::drive::launch::{self, Offer};
use crate::drive::listening;
use crate::drive::process::{self, Memory};
use crate::drive::rest::Rest;
use crate::drive::target::Place;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Service {
    process: Child,
    pub(super) port: u16,
}

impl Service {
    pub(super) fn start(place: &Place) -> Result<Self, String> {
        let path = place.directory.join("platform.log");
        let said = fs::metadata(&path).map_or(0, |log| log.len() as usize);
        let log = File::options().create(true).append(true).open(&path);
        let log = log.map_err(|error| error.to_string())?;
        let mut process = start(launch::platform(place, None).stdout(Stdio::null()).stderr(log))?;
        let port = listening::of_log(&mut process, &path, said);
        // Whoever fails is ended as well.
        let mut service = Self { process, port: 0 };
        service.port = port?;
        Ok(service)
    }

    pub(super) fn admin(&self) -> Result<Rest, String> {
        Rest::to(self.port, launch::ADMIN)
    }

    pub(super) fn memory(&self) -> Memory {
        process::memory(self.process.id().cast_signed())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        end(&self.process);
    }
}

/// A child over HTTP.
#[derive(Debug)]
pub(super) struct Remote {
    process: Child,
    port: u16,
}

impl Remote {
    pub(super) fn start(place: &Place, server: usize, offer: Offer) -> Result<Self, String> {
        let mut command = launch::over_http(place, server, offer);
        let mut process = start(command.stdout(Stdio::piped()))?;
        let output = process.stdout.take().ok_or("no stdout")?;
        let mut remote = Self { process, port: 0 };
        remote.port = listening::of_child(output)?;
        Ok(remote)
    }

    /// Its registration.
    pub(super) fn entry(&self, name: &str) -> Value {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        json!({
            "name": name,
            "transport_type": "HTTP",
            "connection_config": { "url": url },
            "auto_connect": true,
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        end(&self.process);
    }
}

/// The registration of a child over stdio.
pub(super) fn command(place: &Place, name: &str, offer: Offer) -> Value {
    json!({
        "name": name,
        "transport_type": "STDIO",
        "connection_config": { "command": place.child, "args": launch::child_args(0, offer) },
        "auto_connect": true,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the driver starts what it measures, without a keeper"
)]
fn start(command: &mut Command) -> Result<Child, String> {
    command.stdin(Stdio::piped()).spawn().map_err(|error| error.to_string())
}

/// Asks it to leave, with all below it, and waits.
fn end(process: &Child) {
    let pid = process.id().cast_signed();
    let mut all = process::descendants(pid);
    all.push(pid);
    process::terminate(pid);
    if !process::wait_gone(&all, Duration::from_secs(10)) {
        eprintln!("bench: a platform or its child had to be killed");
    }
}
