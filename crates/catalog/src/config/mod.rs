//! The config file: text and environment → expanded, validated servers, or every problem at once.

mod address;
mod call_rules;
mod calls;
mod check;
mod checker;
mod container_rules;
mod custom;
mod encodings;
mod escape;
mod expand;
mod explain;
mod filter;
mod harmless;
mod host_rules;
mod keys;
mod limit_rules;
mod limits;
mod literals;
mod load;
mod machine;
mod mask;
mod names;
mod near;
mod network;
mod network_rules;
mod objects;
mod on_change;
mod path;
mod presets;
mod problem;
mod quote;
mod read;
mod reading;
mod render;
mod run;
mod sandbox;
mod sandbox_rules;
mod scanning;
mod secrets;
mod selection;
mod server;
mod shape;
mod spec;
mod suspect;
#[cfg(test)]
mod tests;

pub use crate::place::{LineColumn, Span};
pub use call_rules::{CALL_SETTINGS, CALL_TIMEOUT, CallRules, CallSetting, SettingUnit};
pub use container_rules::{ContainerEngine, ContainerMount, ContainerRules, is_image};
pub use expand::Environment;
pub use host_rules::HostRule;
pub use limit_rules::{ANYWHERE, LIMIT_SETTINGS, LimitRules, SharedLimits, ToolLimits};
pub use literals::literal_secrets;
pub use load::{ConfigSource, load};
pub use mask::masked;
pub use near::letters_apart;
pub use network_rules::{NetworkRules, TlsFiles};
pub use objects::Object;
pub use on_change::{ON_CHANGE_WORDS, OnChange};
pub use problem::{Code, Problem, Problems, Severity};
pub use render::Style;
pub use sandbox_rules::{NetRules, SandboxProfile, SandboxRules};
pub use secrets::Secrets;
pub use selection::{SelectedTools, Selection, ToolPatterns};
pub use server::is_own_header;
pub use shape::{ConfigKey, HTTP_TYPES, LOCAL_TYPES, SSE_TYPES, Takes};
pub use spec::{
    Config, ConfigNote, CustomTool, Era, Exposed, IdleStop, RemoteKind, Rules, RunRules,
    ServerSpec, Share, Start, Subtool, TextRules, ToolFilter, Transport, fits,
};
