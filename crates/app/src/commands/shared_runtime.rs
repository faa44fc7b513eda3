//! `trunkline runtime`: the runtime that the clients of one user share. Fronts start it; nobody types it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::mpsc;
use trunkline_catalog::config::{Config, Style};
use trunkline_gateway::{Declared, Gateway, Options};

use crate::cli::{Runtime, Stdio};
use crate::commands::reload::Reload;
use crate::commands::runtime::{block_on, broke, refuse};
use crate::commands::stdio::{self, run_policy};
use crate::environment::Environment;
use crate::policy_files::{self, PolicyFiles};
use crate::settings::{self, SettingsError, StartOptions};
use crate::shared::runtime::{
    Attendance, NextConfig, NoticeBoard, OwnSocket, ProgramFile, Reception, TAKEN, detach,
    forget_logs,
};
use crate::shared::{RuntimeIdentity, depends_on_directory};
use crate::{FAILED, OK, USAGE, console, listing_cache, logging, memory, pins};

/// Clients and orders that may wait for the front of the gateway.
const ORDERS: usize = 64;

pub(crate) fn run(asked: &Runtime, environment: &Environment) -> u8 {
    // A front whose client gets its own servers, because nothing can be shared any more.
    if asked.stdio.no_shared {
        return stdio::run(&asked.stdio, environment);
    }
    let socket = match OwnSocket::open(&asked.id, environment) {
        Ok(Some(socket)) => socket,
        Ok(None) => return console::out_bytes(TAKEN),
        Err(why) => return console::problem(&format!("error: {why}\n"), FAILED),
    };
    let program = ProgramFile::running();
    let (notices, logs) = (NoticeBoard::new(), socket.logs());
    if let Err(error) =
        logging::start_runtime(&asked.stdio.servers.log, environment, &logs, notices.lines())
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
    let inputs = inputs(&socket, &asked.stdio, (&path, &config, &first_used), environment);
    let policy_files = PolicyFiles::named((&path, config.policies.as_deref()), &[]);
    let reload = reload.with_policies(config.policies.clone());
    let mut options = match settings::options(&wanted, &path, config, environment) {
        Ok(options) => {
            let listings = listing_cache::listings_for(Some(&path), environment);
            let run = run_policy(wanted.restart, listings.is_some());
            Options { run, listings, ..options }
        }
        Err(error) => return refuse(&error, environment),
    };
    let Ok(policies) = policy_files.narrow_or_tell(&mut options) else { return USAGE };
    let served = block_on(async {
        let attendance = Arc::new(Attendance::default());
        let parting = Arc::clone(&attendance);
        let own = Arc::new(socket.digests(environment));
        let first_used = Arc::new(first_used);
        let reload = reload.on_hangup()?.on_variables(move |used| {
            let (parting, own) = (Arc::clone(&parting), Arc::clone(&own));
            // Whoever comes now looks for a runtime by these variables, and finds another one.
            parting.set_outdated(used != *first_used);
            async move { parting.part(&used, &own).await }
        });
        let gateway = Gateway::start(options)?;
        let fleet = gateway.fleet();
        policy_files::attach(policies.as_ref(), &fleet);
        let (orders, ordered) = mpsc::channel(ORDERS);
        let reception = Reception {
            fleet: fleet.clone(),
            attendance: Arc::clone(&attendance),
            orders,
            notices,
            next: next_config(&path, &flags, environment),
            config: path,
            started: SystemTime::now(),
            inputs,
            program,
        };
        detach(&logs)?;
        // Servers that the next runtime is to have are not started by one that ends.
        let apply = |servers, custom, limits| {
            fleet.set_limits(limits);
            (!attendance.is_ending()).then(|| fleet.apply(servers, custom))
        };
        tokio::select! {
            served = gateway.serve_sockets(ordered) => served,
            received = reception.receive(socket) => match received? {},
            never = reload.run(apply) => match never {},
            never = pins::follow(pins::home(environment), &fleet) => match never {},
            never = policy_files.follow(policies.as_ref()) => match never {},
            never = memory::give_back() => match never {},
        }
    });
    ended(served.and_then(|served| served), &asked.id, environment)
}

/// The exit code.
fn ended(served: io::Result<()>, id: &str, environment: &Environment) -> u8 {
    match served {
        Ok(()) => {
            // Nothing went wrong that somebody could want to read about.
            forget_logs(id, environment);
            OK
        }
        Err(error) => broke(&error),
    }
}

/// How the next runtime of this one's clients would find the config.
fn next_config(path: &Path, flags: &Stdio, environment: &Environment) -> NextConfig {
    let (path, flags, environment) = (path.to_owned(), flags.clone(), environment.clone());
    NextConfig(Box::new(move || {
        match settings::load(&path, &StartOptions::stdio(&flags), &environment) {
            Ok(_) => Ok(()),
            Err(SettingsError::Invalid(problems)) => Err(format!(
                "the config is not valid\n{}",
                problems.render(Style::Plain).trim_end()
            )),
            Err(error) => Err(error.to_string()),
        }
    }))
}

/// What tells this runtime from others, as keyed hashes.
fn inputs(
    socket: &OwnSocket,
    flags: &Stdio,
    (path, config, used): (&Path, &Config, &BTreeSet<String>),
    environment: &Environment,
) -> BTreeMap<String, String> {
    let here = std::env::current_dir().ok();
    socket.inputs(&RuntimeIdentity {
        config: &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
        flags,
        directory: here.as_deref().filter(|_| depends_on_directory(&config.servers)),
        used: &used.iter().map(|name| (name.clone(), environment.get(name))).collect(),
        inherited: settings::inherited(&StartOptions::stdio(flags), environment).variables(),
        environment,
    })
}
