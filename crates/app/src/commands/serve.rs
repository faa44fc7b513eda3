//! `trunkline serve`: many clients over HTTP.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use trunkline_catalog::config::SandboxProfile;
use trunkline_control::policies::{GroupsClaim, PolicyHolder};
use trunkline_control::services::{ControlPlane, Settings};
use trunkline_control::trace::{self, Tracer};
use trunkline_gateway::{
    Declared, FrontNetwork, Gateway, HttpOptions, Limits, OnHangup, Options, PinFiles,
    RedirectOptions, Restart, Signals, TlsFiles, usual_threads,
};
use trunkline_http::{Scheme, Url};
use trunkline_store::StoreUrl;

use crate::cli::{Serve, Token};
use crate::commands::front::front;
use crate::commands::platform::{self, PendingPlatform};
use crate::commands::reload::Reload;
use crate::commands::runtime::{block_on, broke, refuse, start_logging};
use crate::commands::traces;
use crate::demo::DemoFolder;
use crate::environment::Environment;
use crate::listen::Guarded;
use crate::logging::NOTICE;
use crate::openness::{AccessFlags, Openness};
use crate::policy_files::{self, PolicyFiles};
use crate::settings::{self, StartOptions, TOKEN};
use crate::tls_watch::TlsWatch;
use crate::{FAILED, OK, USAGE, console, listing_cache, logging, memory, pins, walls};

/// Document 003: over HTTP, tools are called `server.tool`.
const SEPARATOR: &str = ".";

/// How long a platform that is still opening may take after a signal: then its store is closed in order
/// rather than dropped half-open.
const LAST_STEPS: Duration = Duration::from_secs(5);

/// How long a start waits until what is registered is listed. A slow store does not keep what is there from being served.
const FIRST_LOOK: Duration = Duration::from_secs(5);

pub(crate) fn run(serve: &Serve, environment: &Environment) -> u8 {
    let ended = block_on(async {
        match serve.demo {
            true => demo(serve, environment).await,
            false => {
                let mut serve = serve.clone();
                match platform::named_store(&serve.platform.place, environment) {
                    Ok(store) => serve.platform.place.store = store,
                    Err(what) => return console::problem(&format!("error: {what}\n"), USAGE),
                }
                listen(&serve, environment, None, &|_| {}).await
            }
        }
    });
    ended.unwrap_or_else(|error| broke(&error))
}

/// Serves the demo from a folder of its own, which is removed afterwards.
async fn demo(serve: &Serve, environment: &Environment) -> u8 {
    // Before the folder exists: a signal from now on still removes it.
    let signals = match Signals::new(OnHangup::Reload) {
        Ok(signals) => signals,
        Err(error) => return broke(&error),
    };
    let folder = std::env::current_exe().and_then(|program| DemoFolder::open(&program));
    match folder {
        Ok(folder) => {
            // To stderr directly: the log starts later, in `listen`.
            if !folder.left_alone().is_empty() {
                console::problem(folder.left_alone(), OK);
            }
            let greet = |url: &str| {
                console::problem(&folder.welcome(url), OK);
            };
            listen(&of_demo(serve, &folder), environment, Some(signals), &greet).await
        }
        Err(error) => {
            let words = format!("error: cannot create a folder for the demo: {error}\n");
            console::problem(&words, FAILED)
        }
    }
}

/// What `serve` is told for a demo: the servers, data and store of its folder.
fn of_demo(serve: &Serve, folder: &DemoFolder) -> Serve {
    let mut serve = serve.clone();
    serve.servers.config = Some(folder.config());
    let place = &mut serve.platform.place;
    // Not where the environment says: that is another platform's.
    place.store = Some(StoreUrl::sqlite(&folder.store()));
    place.data_dir = Some(folder.data());
    serve
}

/// Serves until it is told to end; `greet` says where, once it is ready.
async fn listen(
    serve: &Serve,
    environment: &Environment,
    signals: Option<Signals>,
    greet: &dyn Fn(&str),
) -> u8 {
    if let Err(code) = start_logging(&serve.servers.log, environment) {
        return code;
    }
    let Opened { listener, token, openness, tls, redirect } = match open(serve, environment) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let wanted = wanted(serve);
    let file = settings::config_path(serve.servers.config.as_deref(), environment).ok();
    let listings = listing_cache::listings_for(file.as_deref(), environment);
    let mut reload = match serve.platform.is_wanted() {
        true => Reload::prepare_named(&wanted, environment),
        false => Reload::prepare(&wanted, environment),
    };
    let (path, config) = match reload.first(serve.platform.is_wanted()) {
        Ok(read) => read,
        Err(error) => return refuse(&error, environment),
    };
    let policy_files = PolicyFiles::named((&path, config.policies.as_deref()), &serve.policies);
    let reload = reload.with_policies(config.policies.clone());
    let options = match settings::options(&wanted, &path, config, environment) {
        // A platform has a store; what it remembers does not belong into a user's cache.
        Ok(options) => {
            let threads = serve.network.threads.unwrap_or_else(usual_threads);
            let limits = Limits { threads, ..options.limits };
            let listings = listings.filter(|_| !serve.platform.is_wanted());
            Options { listings, limits, ..options }
        }
        Err(error) => return refuse(&error, environment),
    };
    let address = match listener.local_addr() {
        Ok(address) => address,
        Err(error) => return broke(&error),
    };
    let sandbox = usual_sandbox(serve, serve.platform.is_wanted());
    let (base, certificates) = (base_url(serve, address), &*serve.network.tls_client_role);
    let admission =
        platform::Admission { token: token.as_ref(), openness, sandbox, base: &base, certificates };
    let mut options = options;
    let policies = match loaded_policies(serve, &policy_files, &mut options, token.is_some()) {
        Ok(policies) => policies,
        Err(what) => {
            logging::told(&what);
            return console::problem(&format!("error: {what}\n"), USAGE);
        }
    };
    let platform = wanted_platform(serve, (admission, policies.clone()), address, environment);
    let traced = traces::wanted(serve.otlp_endpoint.as_ref(), environment);
    let (platform, traced) = match (platform, traced) {
        (Ok(platform), Ok(traced)) => (platform, traced),
        (Err(what), _) | (_, Err(what)) => {
            return console::problem(&format!("error: {what}\n"), USAGE);
        }
    };
    if platform.is_none() && openness == Openness::Open {
        // On every start: whoever has forgotten it learns it again.
        tracing::warn!(
            "MCP is open: every user and program of this machine may call every tool; to ask for a token, \
             set TRUNKLINE_TOKEN or --token"
        );
    }
    let options = walled(serve, platform.as_ref(), &policy_files, options);
    let network = FrontNetwork {
        connections_per_address: serve.network.connections_per_address,
        tls: tls.as_ref().map(TlsWatch::tls),
        hsts: !serve.network.no_hsts,
        redirect,
        proxies: serve.network.proxy_protocol.clone(),
    };
    let front = front(serve, (listener, network), token, environment);
    let pins = pins::home(environment).filter(|_| platform.is_none());
    let policies = (policy_files, policies);
    let plan = ServePlan { platform, traced, options, front, pins, policies, tls };
    // Boxed: by far the largest future here, and the caller holds the others (clippy::large_futures).
    let served =
        Box::pin(plan.serve(reload, signals, || ready(&base_url(serve, address), greet))).await;
    match served {
        Ok(()) => OK,
        Err(error) => broke(&error),
    }
}

/// The options with the walls around servers: a platform has them unless somebody says otherwise, because
/// others may register what it runs.
fn walled(
    serve: &Serve,
    platform: Option<&Settings>,
    policies: &PolicyFiles,
    mut options: Options,
) -> Options {
    let sandbox = &mut options.inherited.sandbox;
    sandbox.default = usual_sandbox(serve, platform.is_some());
    if let Some(settings) = platform {
        walls::add_platform(sandbox, &settings.storage);
        walls::add_audit(sandbox, &settings.audit);
    }
    walls::add_policies(sandbox, policies.paths());
    options
}

/// The walls around servers that do not say it themselves.
fn usual_sandbox(serve: &Serve, is_platform: bool) -> SandboxProfile {
    // The servers of a demo are this program.
    let is_on = is_platform && !serve.demo;
    let usual = if is_on { SandboxProfile::Standard } else { SandboxProfile::Off };
    serve.sandbox.unwrap_or(usual)
}

/// Everything that is decided before anything starts.
struct ServePlan {
    platform: Option<Settings>,
    traced: Option<trace::TraceSettings>,
    options: Options,
    front: HttpOptions,
    /// Where it is kept what was approved, if that is in files.
    pins: Option<PinFiles>,
    policies: (PolicyFiles, Option<Arc<PolicyHolder>>),
    tls: Option<TlsWatch>,
}

impl ServePlan {
    /// Until a signal comes. One that comes before everything runs ends it as well.
    async fn serve(
        self,
        reload: Reload<'_>,
        signals: Option<Signals>,
        ready: impl FnOnce(),
    ) -> io::Result<()> {
        let Self { platform, traced, mut options, mut front, pins, policies, tls } = self;
        let (policy_files, policies) = policies;
        let mut signals = signals.map_or_else(|| Signals::new(OnHangup::Reload), Ok)?;
        // Heard from here on: one that comes before everything runs is not lost.
        let reload = reload.on_hangup()?;
        let tracer = traced.map(traces::start).transpose()?;
        options.traces = tracer.clone().map(|tracer| Arc::new(tracer) as _);
        let pending = match platform {
            None => None,
            Some(settings) => {
                let settings = Settings { tracer: tracer.clone(), ..settings };
                let mut booting = pin!(PendingPlatform::boot(settings, &mut options));
                let booted = tokio::select! {
                    booted = &mut booting => booted,
                    () = signals.any() => {
                        // A timeout means that the store does not answer: there is nothing to close.
                        if let Ok(Ok(pending)) = timeout(LAST_STEPS, booting).await {
                            pending.close().await;
                        }
                        return Ok(());
                    }
                };
                Some(booted.map_err(io::Error::other)?)
            }
        };
        pending.iter().for_each(|pending| pending.attach(&mut front));
        front.signals = Some(signals);
        let gateway = Gateway::start(options)?;
        let fleet = gateway.fleet();
        policy_files::attach(policies.as_ref(), &fleet);
        let platform = pending.map(|pending| pending.attend(fleet.clone()));
        if let Some(platform) = &platform {
            // Nobody finds a list without the servers that are registered.
            platform.applied(FIRST_LOOK).await;
        }
        ready();
        let apply = |servers, custom, limits| {
            fleet.set_limits(limits);
            match &platform {
                None => Some(fleet.apply(servers, custom)),
                Some(platform) => {
                    platform.set_file(servers, custom);
                    None
                }
            }
        };
        let served = tokio::select! {
            served = gateway.serve_http(front) => served,
            never = reload.run(apply) => match never {},
            never = pins::follow(pins, &fleet) => match never {},
            Err(error) = TlsWatch::follow(tls) => Err(error),
            never = policy_files.follow(policies.as_ref()) => match never {},
            never = memory::give_back() => match never {},
        };
        close(platform.as_ref(), tracer.as_ref()).await;
        served
    }
}

/// A platform always has a holder, because policies may come over REST; elsewhere there is one if files are named.
fn loaded_policies(
    serve: &Serve,
    files: &PolicyFiles,
    options: &mut Options,
    has_token: bool,
) -> Result<Option<Arc<PolicyHolder>>, String> {
    match serve.platform.is_wanted() {
        true => files.load(GroupsClaim(serve.platform.issuer.groups_claim.clone())).map(Some),
        false => files.narrow(options, has_token),
    }
}

/// Says where it listens: in a line that programs wait for, and then to people.
fn ready(url: &str, greet: &dyn Fn(&str)) {
    tracing::info!(target: NOTICE, "listening on {url}");
    greet(url);
}

/// Where it listens, as clients on this machine write it.
fn base_url(serve: &Serve, address: SocketAddr) -> String {
    let scheme = if serve.network.is_secure() { "https" } else { "http" };
    format!("{scheme}://{address}")
}

fn wanted(serve: &Serve) -> StartOptions<'_> {
    StartOptions {
        servers: &serve.servers,
        identity: &serve.identity,
        bounds: &serve.bounds,
        simple: false,
        restart: Restart::Always,
        declared: Declared::everything(),
        separator: SEPARATOR,
        patience: None,
        exposure: serve.expose,
    }
}

/// Writes the last records and sends the last spans. At once, because each has its own timeout.
async fn close(platform: Option<&ControlPlane>, tracer: Option<&Tracer>) {
    let platform = async {
        if let Some(platform) = platform {
            platform.close().await;
        }
    };
    tokio::join!(platform, traces::close(tracer));
}

/// What the platform is told, if there is to be one.
fn wanted_platform(
    serve: &Serve,
    (admission, policies): (platform::Admission<'_>, Option<Arc<PolicyHolder>>),
    address: SocketAddr,
    environment: &Environment,
) -> Result<Option<Settings>, String> {
    if serve.platform.is_wanted() {
        let policies = policies.unwrap_or_default();
        let settings =
            platform::settings(&serve.platform, admission, address, policies, environment);
        return settings.map(Some);
    }
    match &serve.platform.issuer.issuer {
        None if !serve.network.tls_client_role.is_empty() => {
            Err("--tls-client-role needs a platform: --data-dir or --store".to_owned())
        }
        None if serve.platform.people.oidc_issuer.is_some() => {
            Err("--oidc-issuer needs a platform: --data-dir or --store".to_owned())
        }
        None => Ok(None),
        // Only the platform checks tokens, so without it nothing may be served.
        Some(_) => Err("--issuer needs a platform: --data-dir or --store".to_owned()),
    }
}

/// The socket, and who may come in through it.
struct Opened {
    listener: TcpListener,
    token: Option<Token>,
    openness: Openness,
    tls: Option<TlsWatch>,
    redirect: Option<RedirectOptions>,
}

/// What is opened, or the exit code. Nothing is started before all of it is right.
fn open(serve: &Serve, environment: &Environment) -> Result<Opened, u8> {
    let token = match (&serve.token, environment.filled(TOKEN)) {
        (Some(token), _) => Some(token.clone()),
        (None, Some(text)) => Some(
            Token::parse(&text)
                .map_err(|what| console::problem(&format!("error: {TOKEN} {what}\n"), USAGE))?,
        ),
        (None, None) => None,
    };
    // What a client's certificate is for: it is as good as a token.
    let flags = access_flags(serve, token.is_some() || serve.network.tls_client_required);
    let reached = flags.reached;
    let openness = flags.decide().map_err(|what| {
        logging::told(&what);
        console::problem(&format!("error: {what}\n"), USAGE)
    })?;
    let guarded = match &token {
        // Also beside the keys of a platform: the token alone lets a client in.
        Some(token) => Guarded::Token(token.reveal().len()),
        // A demo beyond this machine is closed by its keys.
        None if serve.platform.is_wanted() && !serve.open => Guarded::Keys,
        // A client without a certificate does not even come to ask.
        None if serve.network.tls_client_required => Guarded::Keys,
        None => Guarded::Open,
    };
    let listen = serve.listen.clone().unwrap_or_default();
    let listener = listen.open(environment.filled("PORT"), guarded, reached).map_err(|error| {
        let code = if error.is_usage() { USAGE } else { FAILED };
        logging::told(&error.to_string());
        console::problem(&format!("error: {error}\n"), code)
    })?;
    let tls = opened_tls(serve)?;
    Ok(Opened { listener, token, openness, tls, redirect: opened_redirect(serve)? })
}

/// The certificates, if TLS is spoken, or the exit code.
fn opened_tls(serve: &Serve) -> Result<Option<TlsWatch>, u8> {
    let network = &serve.network;
    let (Some(certificate), Some(key)) = (network.tls_cert.clone(), network.tls_key.clone()) else {
        return Ok(None);
    };
    let files = TlsFiles {
        certificate,
        key,
        client_authorities: network.tls_client_ca.clone(),
        client_required: network.tls_client_required,
    };
    TlsWatch::open(files).map(Some).map_err(|fault| {
        logging::told(&fault.to_string());
        console::problem(&format!("error: {fault}\n"), USAGE)
    })
}

/// The listener that sends everybody to https, if one is wanted, or the exit code.
fn opened_redirect(serve: &Serve) -> Result<Option<RedirectOptions>, u8> {
    let Some(listen) = &serve.network.redirect_http else { return Ok(None) };
    // Nothing but redirects is there to be guarded.
    let opened = listen.open(None, Guarded::Keys, None);
    let listener = opened.map_err(|error| {
        logging::told(&error.to_string());
        let code = if error.is_usage() { USAGE } else { FAILED };
        console::problem(&format!("error: --redirect-http: {error}\n"), code)
    })?;
    if let Ok(address) = listener.local_addr() {
        tracing::info!(target: NOTICE, "redirecting http://{address} to https");
    }
    let public = serve.platform.issuer.public_url.as_ref();
    let public = public.filter(|url| url.scheme() == Scheme::Https);
    Ok(Some(RedirectOptions { listener, authority: public.map(Url::authority) }))
}

fn access_flags(serve: &Serve, has_token: bool) -> AccessFlags {
    let issuer = &serve.platform.issuer;
    let given = [
        (issuer.public_url.is_some(), "--public-url"),
        (!serve.allow_host.is_empty(), "--allow-host"),
        (issuer.issuer.is_some(), "--issuer"),
        (!serve.network.proxy_protocol.is_empty(), "--proxy-protocol"),
    ];
    AccessFlags {
        is_platform: serve.platform.is_wanted(),
        is_demo: serve.demo,
        open: serve.open,
        has_token,
        reached: given.iter().find(|(is_given, _)| *is_given).map(|(_, flag)| *flag),
    }
}
