//! Rows of agents that run in a terminal: Copilot CLI, Qwen Code, opencode, Amp, Crush.
//!
//! The tags of the sources are those of `table`. The entries of Copilot CLI, Qwen Code, opencode and Amp
//! were listed by their own programs; Crush was checked by file only.

use super::defaults::{
    CLIENT, COMMON, FILE, GEMINI_WORDS, MILLISECONDS, REFUSED, REWRITTEN, TYPED, WORD_AND_DASH,
    everywhere, home, in_variable, xdg_config,
};
use super::spec::{
    ClientSpec, ConfigFile, EntryWords, EnvPolicy, Fate, Literal, NameRules, Paths, Switch,
    ToolWords, TransportWords, Variables,
};

pub(super) static COPILOT: ClientSpec = ClientSpec {
    id: "copilot",
    title: "Copilot CLI",
    client_info: &["github-copilot-developer", "copilot-cli"], // [T]
    names: NameRules {
        // other characters fail the request (copilot-cli#454, #1879)
        alphabet: WORD_AND_DASH,
        prefix: Some(("", "-")),
        max: 50,
        ..REFUSED
    },
    config: Some(ConfigFile {
        paths: everywhere(&[
            in_variable("COPILOT_HOME", "mcp-config.json"),
            home(".copilot/mcp-config.json"),
        ]),
        project: Some(".github/mcp.json"),
        entry: EntryWords {
            transport: TransportWords { stdio: Some("local"), ..TYPED },
            cwd: true,
            tools: ToolWords {
                shown: Some("tools"),
                hidden: Some("excludeTools"),
                all: Some("*"), // an entry without `tools` has none [V]
                ..COMMON.tools
            },
            timeout: Some(MILLISECONDS),
            own: "deferTools oidc oauth isDefaultServer",
            ..COMMON
        },
        variables: Variables::Braces,
        next: "start a new session; `/mcp show` or `copilot mcp list` shows the server",
        ..FILE
    }),
    ..CLIENT
};

pub(super) static QWEN: ClientSpec = ClientSpec {
    id: "qwen",
    title: "Qwen Code",
    client_info: &["qwen-code-mcp-client", "qwen-cli-mcp-client"], // [S] 0.24.4
    names: NameRules {
        alphabet: WORD_AND_DASH,
        // over 63: the middle is cut out, so names that differ there collide [S]
        total: 63,
        prefix: Some(("mcp__", "__")),
        max: 47,
        bad_character: Fate::Rewritten,
        too_long: Fate::Rewritten,
    },
    config: Some(ConfigFile {
        paths: everywhere(&[
            in_variable("QWEN_HOME", "settings.json"),
            home(".qwen/settings.json"),
        ]),
        project: Some(".qwen/settings.json"),
        entry: GEMINI_WORDS,
        variables: Variables::Shell,
        env_policy: EnvPolicy::All,
        next: "start a new session; `qwen mcp list` shows the server",
        next_in_project: Some(
            "start `qwen` in the project and trust the folder; `qwen mcp list` shows the server",
        ),
        ..FILE
    }),
    ..CLIENT
};

pub(super) static OPENCODE: ClientSpec = ClientSpec {
    id: "opencode",
    title: "opencode",
    client_info: &["opencode"], // [S]
    names: NameRules {
        alphabet: WORD_AND_DASH, // every other character becomes `_` [S]
        prefix: Some(("", "_")),
        max: 50,
        ..REWRITTEN
    },
    config: Some(ConfigFile {
        paths: everywhere(&[
            xdg_config("opencode/opencode.json"),
            xdg_config("opencode/opencode.jsonc"),
        ]),
        project: Some("opencode.json"),
        key: "mcp",
        entry: EntryWords {
            transport: TransportWords {
                stdio: Some("local"),
                // streamable HTTP first, then SSE [S]
                http: Some("remote"),
                sse: Some("remote"),
            },
            command_is_list: true,
            env: "environment",
            switch: Switch::EnabledAlways,
            // It waits 5 s for the tools of a server [V]; a first start downloads packages.
            defaults: &[("enabled", Literal::Flag(true)), ("timeout", Literal::Number(30_000))],
            own: "timeout oauth",
            ..COMMON
        },
        variables: Variables::Curly,
        next: "start a new session; `opencode mcp list` shows the server",
        ..FILE
    }),
    ..CLIENT
};

pub(super) static AMP: ClientSpec = ClientSpec {
    id: "amp",
    title: "Amp",
    client_info: &["amp-mcp-client", "amp"], // [T]
    names: NameRules {
        alphabet: WORD_AND_DASH,
        // room for a prefix as Claude Code has it
        prefix: Some(("mcp__", "__")),
        max: 48,
        ..REFUSED
    },
    config: Some(ConfigFile {
        // on Windows as well [V]
        paths: everywhere(&[xdg_config("amp/settings.json"), xdg_config("amp/settings.jsonc")]),
        project: Some(".amp/settings.json"),
        key: "amp.mcpServers", // one name with a dot in it, not a path [V]
        entry: EntryWords {
            tools: ToolWords { shown: Some("includeTools"), ..COMMON.tools },
            own: "oauth",
            ..COMMON
        },
        variables: Variables::Braces,
        next: "start a new session; `amp mcp list` shows the server",
        next_in_project: Some("run `amp mcp approve trunkline` in the project"),
        ..FILE
    }),
    ..CLIENT
};

/// Checked by file only.
pub(super) static CRUSH: ClientSpec = ClientSpec {
    id: "crush",
    title: "Crush",
    client_info: &["crush"], // [S]
    names: NameRules {
        alphabet: WORD_AND_DASH,
        prefix: Some(("mcp_", "_")), // [V]
        max: 50,
        ..REFUSED
    },
    config: Some(ConfigFile {
        paths: Paths {
            windows: &[
                in_variable("CRUSH_GLOBAL_CONFIG", "crush.json"),
                in_variable("LOCALAPPDATA", "crush/crush.json"),
                home("AppData/Local/crush/crush.json"),
            ],
            ..everywhere(&[
                in_variable("CRUSH_GLOBAL_CONFIG", "crush.json"),
                xdg_config("crush/crush.json"),
            ])
        },
        project: Some(".crush.json"),
        key: "mcp",
        entry: EntryWords {
            transport: TYPED, // an entry without a type is refused [V]
            switch: Switch::Disabled,
            tools: ToolWords { hidden: Some("disabled_tools"), ..COMMON.tools },
            // It gives a server 15 s to start [V]; a first start downloads packages.
            defaults: &[("timeout", Literal::Number(60))],
            own: "timeout",
            ..COMMON
        },
        variables: Variables::Shell,
        next: "start a new session; its side bar shows the server",
        ..FILE
    }),
    ..CLIENT
};
