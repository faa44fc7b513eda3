//! `trunkline --config F`: one client on standard input and output.

use std::time::Duration;

use trunkline_catalog::config::Start;
use trunkline_gateway::{Gateway, Options, Restart, RunPolicy, shortened};

use crate::cli::Stdio;
use crate::commands::reload::Reload;
use crate::commands::runtime::{block_on, broke, refuse, start_logging};
use crate::environment::Environment;
use crate::policy_files::{self, PolicyFiles};
use crate::settings::{self, StartOptions};
use crate::shared::{self, Fronted};
use crate::{OK, USAGE, console, listing_cache, pins};

pub(crate) fn run(stdio: &Stdio, environment: &Environment) -> u8 {
    let wanted = StartOptions::stdio(stdio);
    let alone = match shared::attach(stdio, &wanted, environment) {
        Fronted::Served(code) => return code,
        Fronted::Usage(why) => return console::problem(&format!("error: {why}\n"), USAGE),
        Fronted::Alone => None,
        Fronted::Impossible(why) => Some(why),
    };
    if let Err(code) = start_logging(&stdio.servers.log, environment) {
        return code;
    }
    if let Some(why) = alone {
        tracing::warn!("servers are started for this client alone: {why}");
    }
    let file = settings::config_path(stdio.servers.config.as_deref(), environment).ok();
    let listings = listing_cache::listings_for(file.as_deref(), environment);
    let listings = listings.filter(|_| !stdio.simple);
    let mut reload = Reload::prepare(&wanted, environment);
    let (path, config) = match reload.first(false) {
        Ok(read) => read,
        Err(error) => return refuse(&error, environment),
    };
    let policy_files = PolicyFiles::named((&path, config.policies.as_deref()), &[]);
    let reload = reload.with_policies(config.policies.clone());
    let mut options = match settings::options(&wanted, &path, config, environment) {
        Ok(options) => {
            Options { run: run_policy(wanted.restart, listings.is_some()), listings, ..options }
        }
        Err(error) => return refuse(&error, environment),
    };
    let Ok(policies) = policy_files.narrow_or_tell(&mut options) else { return USAGE };
    let served = block_on(async {
        let gateway = Gateway::start(options)?;
        let fleet = gateway.fleet();
        policy_files::attach(policies.as_ref(), &fleet);
        let apply = |servers, custom, limits| {
            fleet.set_limits(limits);
            Some(fleet.apply(servers, custom))
        };
        tokio::select! {
            served = gateway.serve_stdio() => served,
            never = reload.run(apply) => match never {},
            never = pins::follow(pins::home(environment), &fleet) => match never {},
            never = policy_files.follow(policies.as_ref()) => match never {},
        }
    });
    match served.and_then(|served| served) {
        Ok(()) => OK,
        Err(error) => broke(&error),
    }
}

/// After so long without use a server is stopped, unless its entry says otherwise: a pause between two tasks is
/// shorter, and the night is longer.
const IDLE_STOP: Duration = Duration::from_secs(15 * 60);

/// Where what servers list is remembered, they run only when they are needed.
pub(super) fn run_policy(restart: Restart, remembers: bool) -> RunPolicy {
    RunPolicy {
        restart,
        // One client makes the call again itself; copying each of its requests would cost every call.
        repeat_calls: false,
        start: if remembers { Start::Lazy } else { Start::Eager },
        idle_stop: remembers.then(|| shortened(IDLE_STOP)),
    }
}
