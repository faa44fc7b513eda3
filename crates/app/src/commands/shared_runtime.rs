//! `trunkline runtime`: the runtime that the clients of one user share. Fronts start it; nobody types it.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::{broadcast, mpsc};
use trunkline_gateway::{Declared, Gateway, Options};

use crate::cli::{Runtime, Stdio};
use crate::commands::reload::Reload;
use crate::commands::runtime::{block_on, broke, refuse};
use crate::commands::stdio::run_policy;
use crate::environment::Environment;
use crate::settings::{self, StartOptions};
use crate::shared::runtime::{Attendance, OwnSocket, Reception, TAKEN, detach};
use crate::{FAILED, OK, USAGE, console, listing_cache, logging, memory};

/// Lines for the standard error of clients that may wait for one that is slow.
const NOTICES: usize = 256;
/// Clients and orders that may wait for the front of the gateway.
const ORDERS: usize = 64;

pub(crate) fn run(asked: &Runtime, environment: &Environment) -> u8 {
    let socket = match OwnSocket::open(&asked.id, environment) {
        Ok(Some(socket)) => socket,
        Ok(None) => return console::out_bytes(TAKEN),
        Err(why) => return console::problem(&format!("error: {why}\n"), FAILED),
    };
    let notices = broadcast::Sender::new(NOTICES);
    let logs = socket.logs();
    if let Err(error) =
        logging::start_runtime(&asked.stdio.servers.log, environment, &logs, notices.clone())
    {
        return console::problem(&format!("error: {error}\n"), USAGE);
    }
    let mut flags: Stdio = asked.stdio.clone();
    flags.servers.client = None; // each client has its own names
    let wanted = StartOptions { declared: Declared::everything(), ..StartOptions::stdio(&flags) };
    let mut reload = Reload::prepare(&wanted, environment);
    let (path, config, first_used) = match reload.first_quietly() {
        Ok(read) => read,
        Err(error) => return refuse(&error, environment),
    };
    let options = match settings::options(&wanted, &path, config, environment) {
        Ok(options) => {
            let listings = listing_cache::listings_for(Some(&path), environment);
            let run = run_policy(wanted.restart, listings.is_some());
            Options { run, listings, ..options }
        }
        Err(error) => return refuse(&error, environment),
    };
    let served = block_on(async {
        let attendance = Arc::new(Attendance::default());
        let parting = Arc::clone(&attendance);
        let own = socket.digests(environment)?;
        let reload = reload.on_hangup()?.on_variables(move |used| {
            parting.part(used, &own);
            // Whoever comes now looks for a runtime by these variables, and finds another one.
            parting.set_outdated(*used != first_used);
        });
        let gateway = Gateway::start(options)?;
        let fleet = gateway.fleet();
        let (orders, ordered) = mpsc::channel(ORDERS);
        let reception = Reception {
            fleet: fleet.clone(),
            attendance,
            orders,
            notices,
            config: path,
            started: SystemTime::now(),
        };
        detach(&logs)?;
        let mut serving = std::pin::pin!(gateway.serve_sockets(ordered));
        tokio::select! {
            served = &mut serving => return served,
            received = reception.receive(socket) => received?,
            never = reload.run(|servers, custom| Some(fleet.apply(servers, custom))) => match never {},
            never = memory::give_back() => match never {},
        }
        serving.await
    });
    match served.and_then(|served| served) {
        Ok(()) => {
            // Nothing went wrong that somebody could want to read about.
            drop(std::fs::remove_dir_all(&logs));
            OK
        }
        Err(error) => broke(&error),
    }
}
