//! The flags of the platform: store, key, issuer, models, and what admins may register.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use trunkline_catalog::config::LimitRules;
use trunkline_control::audit::{AuditExport, AuditFull};
use trunkline_http::Url;
use trunkline_http::reach::Cidr;

use super::people::PeopleFlags;
use super::values::{age, disk_size, interval, moment, stale, store, url, variable};

/// With a data directory or a store, `serve` is a platform: servers are registered over REST, with keys,
/// health and an audit log.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlatformFlags {
    #[command(flatten)]
    pub(crate) place: StoreArgs,
    #[command(flatten)]
    pub(crate) issuer: IssuerFlags,
    #[command(flatten)]
    pub(crate) people: PeopleFlags,
    /// Let admins register servers that are commands on this machine
    #[arg(long, help_heading = "Platform")]
    pub(crate) allow_stdio_registration: bool,
    /// … but only those that run COMMAND, written like this: the program Trunkline itself finds
    /// under that name (repeatable)
    #[arg(long, value_name = "COMMAND", help_heading = "Platform")]
    pub(crate) allow_stdio_command: Vec<String>,
    /// Registered servers may be in this private network, too (repeatable)
    #[arg(long, value_name = "CIDR", help_heading = "Platform")]
    pub(crate) allow_net: Vec<Cidr>,
    /// Registered servers may refer to this variable of the environment, too (repeatable; NAME or PREFIX_*)
    #[arg(long, value_name = "NAME", value_parser = variable, help_heading = "Platform")]
    pub(crate) allow_env: Vec<String>,
    /// How often the health of each server is checked
    #[arg(
        long, value_name = "TIME", default_value = "30s", value_parser = interval,
        help_heading = "Platform"
    )]
    pub(crate) health_interval: Duration,
    /// What each API key and each subject may have, where nothing else is said: `off`, or NAME=NUMBER,… of
    /// `calls_per_second`, `burst`, `open_calls`, `result_bytes_per_minute`, `sessions`, `connections`,
    /// `subscriptions` [default: `calls_per_second=50,burst=500,open_calls=128,connections=2000`]
    #[arg(long, value_name = "LIMITS", value_parser = LimitRules::read, help_heading = "Platform")]
    pub(crate) limits: Option<LimitRules>,
    /// Where other replicas that work with the same store reach this one, to pass on requests that are its own
    /// [default: the address it listens on, with a store in Postgres]
    #[arg(long, value_name = "URL", value_parser = url, help_heading = "Platform")]
    pub(crate) replica_address: Option<Url>,
    /// Cut off from its store for so long, refuse API keys: they may have been revoked
    #[arg(
        long, value_name = "TIME", default_value = "30s", value_parser = stale,
        help_heading = "Platform"
    )]
    pub(crate) max_stale: Duration,
    #[command(flatten)]
    pub(crate) audit: AuditFlags,
    #[command(flatten)]
    pub(crate) models: ModelFlags,
}

/// What becomes of the audit log.
#[derive(Args, Clone, Debug)]
pub(crate) struct AuditFlags {
    /// What becomes of calls while the store takes no audit records and the spool is full: `drop` (they run, and their
    /// records are counted as lost), `block` (they wait up to 30 s) or `refuse` [default: `drop`]
    #[arg(
        long, value_name = "POLICY", value_parser = AuditFull::parse, help_heading = "Platform",
        conflicts_with = "audit_required"
    )]
    pub(crate) audit_full: Option<AuditFull>,
    /// Short for `--audit-full refuse`
    #[arg(long, help_heading = "Platform")]
    pub(crate) audit_required: bool,
    /// How much of the audit log may wait in the data directory while the store is slow or away; 0: nothing
    #[arg(
        long, value_name = "SIZE", value_parser = disk_size, default_value = "256MiB",
        help_heading = "Platform"
    )]
    pub(crate) audit_spool: usize,
    /// Remove records of the audit log that are older (90d, 12h) [default: they are kept for ever]
    #[arg(long, value_name = "TIME", value_parser = age, help_heading = "Platform")]
    pub(crate) audit_keep: Option<Duration>,
    /// … and the oldest beyond so many
    #[arg(
        long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(1..),
        help_heading = "Platform"
    )]
    pub(crate) audit_keep_records: Option<i64>,
    /// … and write them to files in DIR before: `audit verify --archive DIR` proves them whole
    #[arg(long, value_name = "DIR", help_heading = "Platform")]
    pub(crate) audit_archive: Option<PathBuf>,
    /// Note the end of the audit log in FILE each minute: `audit verify --anchor FILE` finds a store that was
    /// set back
    #[arg(long, value_name = "FILE", help_heading = "Platform")]
    pub(crate) audit_anchor: Option<PathBuf>,
    /// Pass each record on: `file:PATH`, `syslog:/dev/log`, `syslog:HOST:PORT` or `otlp:http(s)://HOST:PORT/v1/logs`
    #[arg(
        long, value_name = "PLACE", value_parser = AuditExport::parse, help_heading = "Platform"
    )]
    pub(crate) audit_export: Option<AuditExport>,
}

/// Models elsewhere, which are asked before the one in the program is.
#[derive(Args, Clone, Debug)]
pub(crate) struct ModelFlags {
    /// Ask the language model at URL (OpenAI-compatible, up to /v1) for the skills of tools; its key is
    /// `$TRUNKLINE_LLM_KEY`
    #[arg(long, value_name = "URL", value_parser = url, requires = "llm_model", help_heading = "Platform")]
    pub(crate) llm_url: Option<Url>,
    /// … by this name
    #[arg(long, value_name = "NAME", requires = "llm_url", help_heading = "Platform")]
    pub(crate) llm_model: Option<String>,
    /// Ask that model for a second opinion on what the scanner finds of severity medium: it changes the severity that
    /// is shown by one step, and nothing else
    #[arg(long, requires = "llm_url", help_heading = "Platform")]
    pub(crate) scan_second_opinion: bool,
    /// Ask the embedding endpoint at URL (OpenAI-compatible, up to /v1) where tools and questions point;
    /// its key is `$TRUNKLINE_EMBED_KEY`
    #[arg(long, value_name = "URL", value_parser = url, requires = "embed_model", help_heading = "Platform")]
    pub(crate) embed_url: Option<Url>,
    /// … by this name
    #[arg(long, value_name = "NAME", requires = "embed_url", help_heading = "Platform")]
    pub(crate) embed_model: Option<String>,
}

/// Whose access tokens are taken, beside keys.
#[derive(Args, Clone, Debug)]
pub(crate) struct IssuerFlags {
    /// Take access tokens (JWT) of the OAuth authorization server at URL, written as in their `iss`
    #[arg(long, value_name = "URL", help_heading = "Platform")]
    pub(crate) issuer: Option<String>,
    /// What tokens must be meant for (repeatable) [default: the public address of /mcp]
    #[arg(long, value_name = "URL", requires = "issuer", help_heading = "Platform")]
    pub(crate) audience: Vec<String>,
    /// The claim of tokens whose elements are the user's groups in policies
    #[arg(
        long,
        value_name = "NAME",
        requires = "issuer",
        default_value = "groups",
        help_heading = "Platform"
    )]
    pub(crate) groups_claim: String,
    /// How clients reach this Trunkline, if that is not the address it listens on
    #[arg(
        long, value_name = "URL", value_parser = url, help_heading = "Platform"
    )]
    pub(crate) public_url: Option<Url>,
    /// Where the issuer's keys are [default: its metadata says where]
    #[arg(
        long, value_name = "URL", value_parser = url, requires = "issuer",
        help_heading = "Platform"
    )]
    pub(crate) jwks_url: Option<Url>,
}

/// Where a platform keeps things.
#[derive(Args, Clone, Debug)]
pub(crate) struct StoreArgs {
    /// Be a platform (REST API at /api/v1), and keep its store, key and admin token in DIR
    #[arg(long, value_name = "DIR", help_heading = "Platform")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where records are kept: sqlite:PATH or postgres://…; with a password better set as
    /// `TRUNKLINE_STORE` [default: trunkline.db in the data directory]
    #[arg(long, value_name = "URL", value_parser = store, help_heading = "Platform")]
    pub(crate) store: Option<trunkline_store::StoreUrl>,
    /// The file with the key that seals secrets [default: `$TRUNKLINE_KEY`, or `key` in the data directory]
    #[arg(long, value_name = "FILE", help_heading = "Platform")]
    pub(crate) key_file: Option<PathBuf>,
    /// Take that key from the kernel's keyring, by its description
    #[arg(long, value_name = "NAME", help_heading = "Platform")]
    pub(crate) keyring: Option<String>,
}

impl PlatformFlags {
    /// Is a platform wanted at all?
    pub(crate) fn is_wanted(&self) -> bool {
        self.place.data_dir.is_some() || self.place.store.is_some()
    }
}

/// `trunkline audit …`
#[derive(Args, Clone, Debug)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Read the whole log: is every record as it was written, and none missing?
    Verify(VerifyAudit),
    /// Write records as JSON, one a line, the oldest first
    Export(ExportAudit),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct VerifyAudit {
    /// Compare with the end that `serve --audit-anchor FILE` noted last
    #[arg(long, value_name = "FILE")]
    pub(crate) anchor: Option<PathBuf>,
    /// Read the files that `serve --audit-archive DIR` has written, too: do they lead to the records in the store?
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Option<PathBuf>,
    /// The archive must have the records from N on; what was before them is kept elsewhere, or was removed without an
    /// archive
    #[arg(
        long, value_name = "N", default_value_t = 1, requires = "archive",
        value_parser = clap::value_parser!(i64).range(1..)
    )]
    pub(crate) archive_from: i64,
    #[command(flatten)]
    pub(crate) at: MaintenanceArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ExportAudit {
    #[command(flatten)]
    pub(crate) place: StoreArgs,
    /// From this time on (2027-01-31T12:00:00Z)
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) since: Option<i64>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) until: Option<i64>,
    /// `ndjson` (as they are over REST) or `csv` (with a first line of names)
    #[arg(long, value_name = "FORMAT", value_parser = ExportFormat::parse, default_value = "ndjson")]
    pub(crate) format: ExportFormat,
    /// Into FILE, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Go on behind the last record of FILE, if there is one: after an interruption, or each day
    #[arg(long, requires = "output")]
    pub(crate) resume: bool,
}

/// How exported records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    Ndjson,
    Csv,
}

impl ExportFormat {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "ndjson" => Ok(Self::Ndjson),
            "csv" => Ok(Self::Csv),
            _ => Err("must be ndjson or csv".to_owned()),
        }
    }
}

/// `trunkline backup …`
#[derive(Args, Clone, Debug)]
pub(crate) struct Backup {
    #[command(subcommand)]
    pub(crate) command: BackupCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// Write all that the store holds to FILE, while `serve` runs or not, and read it again
    Create(BackupFile),
    /// Is FILE a whole backup, and what is in it?
    Verify(BackupFile),
    /// Make a store of FILE where there is none yet, of either kind, and check it
    Restore(BackupFile),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct BackupFile {
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) at: MaintenanceArgs,
}

/// `trunkline key …`
#[derive(Args, Clone, Debug)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) command: KeyCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a new key for the secrets of the store (stop `serve` before)
    Rotate(MaintenanceArgs),
}

/// `trunkline secret …`
#[derive(Args, Clone, Debug)]
pub(crate) struct Secret {
    #[command(subcommand)]
    pub(crate) command: SecretCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Keep a secret, or another value for it, read from standard input or a file
    Set(SetSecret),
    /// List the secrets, without their values, and the servers that refer to them
    List(MaintenanceArgs),
    /// Remove a secret
    Remove(RemoveSecret),
}

#[derive(Args, Clone)]
pub(crate) struct SetSecret {
    /// Letters, digits, `-`, `_` and `.`
    pub(crate) name: String,
    /// Here only to be refused without being quoted
    #[arg(hide = true)]
    pub(crate) value: Vec<String>,
    /// Read the value from FILE; one line end at its end is left out
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) at: MaintenanceArgs,
}

/// Without what may be the value.
impl std::fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RemoveSecret {
    pub(crate) name: String,
    /// Also if servers refer to it: they cannot be connected any more
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) at: MaintenanceArgs,
}

/// A store that something is done to.
#[derive(Args, Clone, Debug)]
pub(crate) struct MaintenanceArgs {
    #[command(flatten)]
    pub(crate) place: StoreArgs,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
}
