//! Starts the platform of `serve` from flags and environment, and attaches it to the gateway.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use trunkline_catalog::config::SandboxProfile;
use trunkline_control::access::{CertificateRole, CertificateRoles, WithoutToken};
use trunkline_control::api::handle::{Api, audit_json};
use trunkline_control::audit::{AuditExport, AuditFull, AuditKeep};
use trunkline_control::embed::Embeddings;
use trunkline_control::issuer::Trusted;
use trunkline_control::llm::{Llm, SecondOpinions};
use trunkline_control::net::ModelPlace;
use trunkline_control::policies::PolicyHolder;
use trunkline_control::secrets::{AllowedVariables, KeySource};
use trunkline_control::services::{
    AuditSettings, ControlPlane, DEFAULT_LIMITS, ProgramSearch, RegistrationRules, ReplicaSettings,
    Settings, StartedControlPlane, StdioRegistration, StorageSettings, TokenSettings, with_logins,
};
use trunkline_dashboard::Dashboard;
use trunkline_gateway::{ConnectedClients, Event, EventSink, Fleet, HttpOptions, Options};
use trunkline_http::Url;
use trunkline_http::reach::Policy;
use trunkline_store::StoreUrl;

use super::people::people;
use crate::cli::{AuditFlags, IssuerFlags, ModelFlags, PlatformFlags, StoreArgs, Token};
use crate::environment::Environment;
use crate::openness::Openness;
use crate::settings::{ADMIN_TOKEN, EMBED_KEY, KEY, LLM_KEY, STORE};
use crate::web_services::WebServices;
use crate::{OK, console, core_dumps};

/// A control plane whose gateway does not run yet.
#[derive(Debug)]
pub(super) struct PendingPlatform {
    plane: ControlPlane,
    sink: EventSink,
    events: mpsc::Receiver<Event>,
}

/// Events that may wait for the audit log: seconds of a busy gateway. Beyond that they are counted as lost.
const EVENTS: usize = 65_536;

/// Who may come in besides the holders of keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission<'a> {
    pub(super) token: Option<&'a Token>,
    pub(super) openness: Openness,
    /// The walls around what is registered.
    pub(super) sandbox: SandboxProfile,
    /// Where it listens, as a URL.
    pub(super) base: &'a str,
    /// Who clients are that show a certificate.
    pub(super) certificates: &'a [CertificateRole],
}

/// What the operator has decided, or what is wrong with it.
pub(super) fn settings(
    flags: &PlatformFlags,
    admission: Admission<'_>,
    address: SocketAddr,
    policies: Arc<PolicyHolder>,
    environment: &Environment,
) -> Result<Settings, String> {
    let PlatformPaths { data_dir, store, key } = PlatformPaths::at(&flags.place, environment)?;
    let allowed = AllowedVariables::read(flags.allow_env.iter().map(String::as_str));
    let stdio = match (flags.allow_stdio_registration, flags.allow_stdio_command.as_slice()) {
        (true, []) => StdioRegistration::Allowed,
        (_, []) => StdioRegistration::Refused,
        (_, commands) => StdioRegistration::Only(commands.to_vec()),
    };
    let issuer = trusted(&flags.issuer, address, admission.base)?;
    let public_url = flags.issuer.public_url.as_ref();
    let people = people(&flags.people, public_url, (address, admission.base), environment)?;
    let replica_address = replica_address(flags, &store, (address, admission.base));
    // A demo may listen on an address that others reach.
    let is_open = admission.openness == Openness::Open && address.ip().is_loopback();
    let variables = environment.all();
    let llm = llm(&flags.models, environment)?;
    Ok(Settings {
        storage: StorageSettings { data_dir, store, key },
        tokens: TokenSettings {
            admin_token: environment.filled(ADMIN_TOKEN),
            static_token: admission.token.map(|token| token.reveal().to_owned()),
            without_token: if is_open { WithoutToken::MayUseMcp } else { WithoutToken::Refused },
            issuer,
            certificates: CertificateRoles::new(admission.certificates.to_vec()),
            people,
        },
        registration: RegistrationRules {
            stdio,
            sandbox: admission.sandbox,
            reach: Policy { allowed: flags.allow_net.clone() },
            program_search: surroundings(environment)?,
            allowed_variables: allowed.map_err(|bad| format!("--allow-env: {bad}"))?,
            variable: Arc::new(move |name| {
                let held = variables.iter().find(|(held, _)| held == name);
                held.and_then(|(_, value)| value.to_str()).map(str::to_owned)
            }),
        },
        listen: address,
        replicas: ReplicaSettings { address: replica_address, max_stale: flags.max_stale },
        connected_clients: ConnectedClients::default(),
        public_url: public(&flags.issuer, address, admission.base),
        audit: AuditSettings {
            full: match flags.audit.audit_required {
                true => AuditFull::Refuse,
                false => flags.audit.audit_full.unwrap_or_default(),
            },
            spool: flags.audit.audit_spool as u64,
            keep: AuditKeep {
                age: flags.audit.audit_keep,
                records: flags.audit.audit_keep_records,
            },
            archive: flags.audit.audit_archive.clone(),
            anchor: flags.audit.audit_anchor.clone(),
            export: export(&flags.audit, environment)?,
        },
        health_interval: flags.health_interval,
        limits: flags.limits.unwrap_or(DEFAULT_LIMITS),
        tracer: None,
        second_opinions: llm
            .clone()
            .filter(|_| flags.models.scan_second_opinion)
            .map(SecondOpinions::new),
        llm,
        embeddings: embeddings(&flags.models, environment)?,
        policies,
    })
}

/// Where the audit log is passed on to, if anywhere.
fn export(flags: &AuditFlags, environment: &Environment) -> Result<Option<AuditExport>, String> {
    let Some(export) = flags.audit_export.clone() else { return Ok(None) };
    export.check().map_err(|why| format!("--audit-export: {why}"))?;
    let mut warnings = Vec::new();
    let export = export.with_variables(|name| environment.get(name), &mut warnings)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    Ok(Some(export))
}

/// The language model that is asked for skills, if one is named.
fn llm(flags: &ModelFlags, environment: &Environment) -> Result<Option<Llm>, String> {
    let (Some(url), Some(model)) = (&flags.llm_url, &flags.llm_model) else { return Ok(None) };
    let key = environment.filled(LLM_KEY);
    let place = ModelPlace { url: url.clone(), model: model.clone(), key };
    Llm::new(place).map(Some).map_err(|bad| format!("--llm-url: {bad}"))
}

/// The embedding endpoint that is asked before the model in the program is, if one is named.
fn embeddings(flags: &ModelFlags, environment: &Environment) -> Result<Option<Embeddings>, String> {
    let (Some(url), Some(model)) = (&flags.embed_url, &flags.embed_model) else { return Ok(None) };
    let key = environment.filled(EMBED_KEY);
    let place = ModelPlace { url: url.clone(), model: model.clone(), key };
    Embeddings::new(place).map(Some).map_err(|bad| format!("--embed-url: {bad}"))
}

/// How browsers reach this: as the operator says, or, on this machine, where it listens.
fn public(flags: &IssuerFlags, address: SocketAddr, base: &str) -> Option<String> {
    match &flags.public_url {
        Some(public) => Some(public.to_string().trim_end_matches('/').to_owned()),
        None => address.ip().is_loopback().then(|| base.to_owned()),
    }
}

/// Where other replicas reach this: as the operator says, or where it listens. A store in a file is this machine's,
/// and has no others unless the operator says so.
fn replica_address(
    flags: &PlatformFlags,
    store: &StoreUrl,
    (address, base): (SocketAddr, &str),
) -> Option<Url> {
    if flags.replica_address.is_some() || store.file().is_some() {
        return flags.replica_address.clone();
    }
    let scheme = base.split_once("://").map_or("http", |(scheme, _)| scheme);
    let Some(ip) = reached_at(address) else {
        tracing::warn!(
            "this machine has no address of its own: other replicas cannot pass requests on to this one unless \
             --replica-address says where it is"
        );
        return None;
    };
    if scheme == "https" {
        tracing::warn!(
            "other replicas reach this one at https://{ip}, which its certificate may not name: say a name with \
             --replica-address"
        );
    }
    Url::parse(&format!("{scheme}://{}", SocketAddr::new(ip, address.port()))).ok()
}

/// The address it listens on; of a wildcard the one from which this machine reaches others.
fn reached_at(address: SocketAddr) -> Option<IpAddr> {
    if !address.ip().is_unspecified() {
        return Some(address.ip());
    }
    // Nothing is sent: the kernel chooses the address that it would send from (RFC 5737, an address of nobody's).
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_unspecified()).then_some(own)
}

/// Where programs are looked for that may be registered.
fn surroundings(environment: &Environment) -> Result<ProgramSearch, String> {
    let directory = std::env::current_dir();
    let directory = directory.map_err(|error| format!("the current directory: {error}"))?;
    // Without PATH, exec searches there.
    let path = environment.filled("PATH").unwrap_or_else(|| "/bin:/usr/bin".to_owned());
    Ok(ProgramSearch { path, directory })
}

/// The issuer, if there is one, and what this Trunkline is for it.
fn trusted(
    flags: &IssuerFlags,
    address: SocketAddr,
    base: &str,
) -> Result<Option<Trusted>, String> {
    let Some(issuer) = &flags.issuer else { return Ok(None) };
    let public = match &flags.public_url {
        Some(public) => public.clone(),
        None if address.ip().is_loopback() => Url::parse(base).map_err(|bad| bad.to_string())?,
        // The audience of tokens (RFC 8707) is this URL, and a wildcard address has many.
        None => return Err("--issuer needs --public-url: how clients reach this".to_owned()),
    };
    let trusted = Trusted::new(issuer, flags.jwks_url.clone(), flags.audience.clone(), &public);
    trusted.map(Some).map_err(|bad| bad.to_string())
}

/// The command that finishes a rotation of the key. It shows `URL` for the store, which may hold a password.
fn rotate_command(settings: &Settings) -> String {
    let place = format!("--data-dir {}", settings.storage.data_dir.display());
    let store = match settings.storage.store.is_in(&settings.storage.data_dir) {
        true => String::new(),
        false => " --store URL".to_owned(),
    };
    let file = match &settings.storage.key {
        KeySource::File(path) if path.parent() != Some(&settings.storage.data_dir) => {
            format!(" --key-file {}", path.display())
        }
        _ => String::new(),
    };
    format!("trunkline key rotate {place}{store}{file}")
}

/// Where a platform keeps its data, its store and its key.
pub(super) struct PlatformPaths {
    pub(super) data_dir: PathBuf,
    pub(super) store: StoreUrl,
    pub(super) key: KeySource,
}

impl PlatformPaths {
    pub(super) fn at(place: &StoreArgs, environment: &Environment) -> Result<Self, String> {
        let data_dir = match (&place.data_dir, environment.path("XDG_STATE_HOME")) {
            (Some(given), _) => given.clone(),
            (None, Some(state)) => state.join("trunkline"),
            (None, None) => home(environment)?.join(".local/state/trunkline"),
        };
        let store = named_store(place, environment)?;
        let store = store.unwrap_or_else(|| StoreUrl::sqlite(&data_dir.join("trunkline.db")));
        let given = environment.filled(KEY);
        let (keyring, file) = (place.keyring.clone(), place.key_file.clone());
        let key = KeySource::choose(given, keyring, file, &data_dir);
        Ok(Self { data_dir, store, key })
    }
}

/// The store, if one is named. `TRUNKLINE_STORE` keeps a password out of the process list.
pub(super) fn named_store(
    place: &StoreArgs,
    environment: &Environment,
) -> Result<Option<StoreUrl>, String> {
    let set = environment.filled(STORE).filter(|_| place.store.is_none());
    let set = set.map(|text| StoreUrl::parse(&text)).transpose();
    set.map(|set| set.or_else(|| place.store.clone())).map_err(|bad| format!("{STORE}: {bad}"))
}

fn home(environment: &Environment) -> Result<PathBuf, String> {
    environment.path("HOME").ok_or_else(|| "say where with --data-dir: HOME is not set".to_owned())
}

/// Several replicas may work with one store.
const OWN_TOKEN: &str = "It is this replica's own: another one with the same store and another data directory has another. \
     Set TRUNKLINE_ADMIN_TOKEN for all of them to have one.";

impl PendingPlatform {
    pub(super) async fn boot(settings: Settings, options: &mut Options) -> Result<Self, String> {
        // Before the key is read.
        core_dumps::forbid();
        let (reach, limits) = (settings.registration.reach.clone(), settings.limits);
        let rotate = rotate_command(&settings);
        let is_shared = settings.storage.store.file().is_none();
        let booted = ControlPlane::boot(settings).await.map_err(|error| error.to_string())?;
        let StartedControlPlane { plane, admin_token, is_locked, is_rotating } = booted;
        if let Some((token, file)) = admin_token {
            // Not through the log, which may go to a file; and only to a person: a journal or a container's
            // log is read by others, and kept.
            let file = file.display();
            let words = match console::stderr_is_terminal() {
                true => format!(
                    "The admin token, shown this once (it is kept in {file}):\n\n    {}\n\n",
                    token.expose()
                ),
                false => format!("The admin token was made; it is in {file}\n"),
            };
            let words = match is_shared {
                true => format!("{words}{OWN_TOKEN}\n"),
                false => words,
            };
            console::problem(&words, OK);
        }
        if is_locked {
            tracing::error!(
                "the store is locked: it was sealed with another key; registered servers are not \
                 connected, and nothing can be changed"
            );
        }
        if is_rotating {
            tracing::warn!(
                "the change of the key was interrupted: nothing is lost, and both keys are used \
                 until it is finished; stop this, and run `{rotate}`"
            );
        }
        let (sink, events) = EventSink::new(EVENTS);
        let sink = match plane.audit_gate() {
            Some(is_stuck) if plane.settings().audit.full == AuditFull::Block => {
                sink.required(is_stuck).waiting()
            }
            Some(is_stuck) => sink.required(is_stuck),
            None => sink,
        };
        options.limits.platform = limits;
        options.events = Some(sink.clone());
        options.network.reach = reach;
        options.shown.pins = Some(plane.reviews().home());
        options.logins = Some(Arc::new(plane.logins().logins().clone()));
        // In the form in which the platform applies them: else it would see a difference and start every server a second time.
        options.servers = with_logins(std::mem::take(&mut options.servers));
        plane.set_file(options.servers.clone(), options.custom.clone());
        options.listings = Some(plane.listings(&options.servers).await);
        Ok(Self { plane, sink, events })
    }

    /// Puts the API and its gate on the listener.
    pub(super) fn attach(&self, front: &mut HttpOptions) {
        front.connected_clients = self.plane.clients().connected();
        front.replicas = self.plane.replicas();
        front.gate = Some(Arc::new(self.plane.gate()));
        front.attachment = Some(Arc::new(WebServices {
            api: Api::new(self.plane.clone()),
            dashboard: Dashboard::new(self.plane.clone()),
        }));
        // The platform's gate checks the static token among its keys.
        front.token = None;
    }

    /// Closes the platform when no gateway will start.
    pub(super) async fn close(self) {
        self.plane.close().await;
    }

    /// Connects the platform to the running gateway.
    pub(super) fn attend(self, fleet: Fleet) -> ControlPlane {
        self.plane.attach(fleet, self.events, self.sink);
        self.plane.follow_audit(audit_json);
        self.plane
    }
}
