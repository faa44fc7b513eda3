//! The flags of `policy`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline_control::policies::{NamedCaller, NamedTarget};

#[derive(Args, Clone, Debug)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Read files of policies and say what is wrong with them
    #[command(after_help = "Exit codes: 0 they are right, 2 they are not, or cannot be read.")]
    Check(CheckPolicies),
    /// Decide one request by files of policies, and say why
    #[command(
        after_help = "Exit codes: 0 it is allowed, 1 it is refused, 2 usage or broken policies."
    )]
    Test(Box<TestPolicies>),
    /// Print the schema: what policies can say
    Schema,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CheckPolicies {
    /// A file, or a directory with `*.cedar`
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TestPolicies {
    /// A file, or a directory with `*.cedar` (repeatable)
    #[arg(long, value_name = "PATH", required = true)]
    pub(crate) policies: Vec<PathBuf>,
    /// Who asks: `key:ID`, `user:SUBJECT`, `anonymous` or `admin`
    #[arg(long, value_name = "WHO")]
    pub(crate) principal: NamedCaller,
    /// What is done: list, call, read or get
    #[arg(long, value_name = "ACTION", value_parser = ["list", "call", "read", "get"])]
    pub(crate) action: String,
    /// With what: `tool:SERVER.NAME`, `server:SERVER`, `resource:SERVER.URI` or `prompt:SERVER.NAME`
    #[arg(long, value_name = "WHAT")]
    pub(crate) resource: NamedTarget,
    /// The arguments of the call, a JSON object
    #[arg(long, value_name = "JSON", default_value = "")]
    pub(crate) arguments: String,
    /// The claims of a user's token, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) claims: String,
    /// The claim whose elements are the user's groups
    #[arg(long, value_name = "NAME", default_value = "groups")]
    pub(crate) groups_claim: String,
    /// The name of the key
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) name: String,
    /// The role of the caller [default: caller; of the admin: admin]
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "caller", "operator", "admin"])]
    pub(crate) role: Option<String>,
    /// A pattern of the key's tools (repeatable) [default: all tools]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tools: Vec<String>,
    /// What the tool says about itself, a JSON object: `{"readOnlyHint":true}`
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) annotations: String,
    /// A skill of the tool (repeatable)
    #[arg(long, value_name = "ID")]
    pub(crate) skill: Vec<String>,
    /// Where the caller is
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) address: IpAddr,
    /// When, in seconds since 1970 [default: now]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) now: Option<i64>,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
}
