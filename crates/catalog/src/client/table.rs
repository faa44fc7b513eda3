//! The table of clients. A new client is a line in [`Client`], its row (here, in `agents` or in `apps`),
//! and a sample of its file in `tests/testdata/clients`.
//!
//! Every number carries its source: \[M\] measured on 2026-11-15, \[S\] read in the client's source,
//! \[T\] a third party's report, \[V\] the vendor's documentation, \[P\] mcp-client-capabilities.

use super::agents::{AMP, COPILOT, CRUSH, OPENCODE, QWEN};
use super::apps::{CONTINUE, KIRO, LM_STUDIO};
use super::defaults::{
    CLIENT, COMMON, FILE, GEMINI_WORDS, LETTER_FIRST, MILLISECONDS, REFUSED, REMOTE, REWRITTEN,
    SECONDS, STRICT, TYPED, WORD, WORD_AND_DASH, everywhere, home, in_variable, of_program,
    settings, xdg_config,
};
use super::spec::{
    Alphabet, Budget, ClientSpec, ConfigFile, EntryWords, EnvPolicy, Fate, FileFormat, FilePath,
    HeaderVariables, Literal, NameRules, NamedVariables, PathBase, Paths, RemoteWords, StartedFrom,
    Switch, TimeoutWords, ToolWords, TransportWords, ValueShape, Variables,
};

clients! {
    ClaudeDesktop => CLAUDE_DESKTOP,
    ClaudeCode => CLAUDE_CODE,
    Cursor => CURSOR,
    VsCode => VS_CODE,
    Windsurf => WINDSURF,
    Zed => ZED,
    Codex => CODEX,
    Gemini => GEMINI,
    Goose => GOOSE,
    Cline => CLINE,
    Copilot => COPILOT,
    Qwen => QWEN,
    OpenCode => OPENCODE,
    Amp => AMP,
    Crush => CRUSH,
    Continue => CONTINUE,
    Kiro => KIRO,
    LmStudio => LM_STUDIO,
    OpenAi => OPENAI,
}

static CLAUDE_DESKTOP: ClientSpec = ClientSpec {
    id: "claude-desktop",
    title: "Claude Desktop",
    client_info: &["claude-ai"], // [P]; the desktop app and claude.ai share it
    names: NameRules {
        // ^[a-zA-Z0-9_-]{1,64}$ of FrontendRemoteMcpToolDefinition.name (drupal mcp_server 3585896)
        alphabet: WORD_AND_DASH,
        // the raw name is sent; room is left in case that changes
        max: 50,
        ..REFUSED // one bad name fails the whole chat (docker/mcp-gateway#228)
    },
    started_from: StartedFrom::Desktop,
    config: Some(ConfigFile {
        paths: Paths {
            // since February 2026 the Windows app is an MSIX package and reads its own folder only
            // (anthropics/claude-code#26073)
            windows: &[
                FilePath {
                    base: PathBase::Package("Claude_"),
                    path: "LocalCache/Roaming/Claude/claude_desktop_config.json",
                },
                settings("Claude/claude_desktop_config.json"),
            ],
            ..everywhere(&[settings("Claude/claude_desktop_config.json")])
        },
        format: STRICT,
        entry: EntryWords { remote: None, ..COMMON },
        next: "quit Claude Desktop completely and start it again; Settings → Developer shows the server",
        ..FILE
    }),
    ..CLIENT
};

static CLAUDE_CODE: ClientSpec = ClientSpec {
    id: "claude-code",
    title: "Claude Code",
    client_info: &["claude-code"], // [M] 2.1.325, in server/discover and in initialize
    names: NameRules {
        alphabet: WORD_AND_DASH,
        total: 128, // [M] 125 kept, 138 dropped
        prefix: Some(("mcp__", "__")),
        // 64 in all through an OpenAI-compatible backend (novamira#12)
        max: 48,
        // every other character becomes `_`, the call goes out with our name [M]
        bad_character: Fate::Rewritten,
        // over 128 in all: silently dropped [M]
        too_long: Fate::Refused,
    },
    config: Some(ConfigFile {
        paths: everywhere(&[
            in_variable("CLAUDE_CONFIG_DIR", ".claude.json"),
            home(".claude.json"),
        ]),
        project: Some(".mcp.json"),
        format: STRICT,
        projects: Some("projects"),
        entry: EntryWords {
            transport: TYPED,
            timeout: Some(MILLISECONDS),
            own: "alwaysLoad headersHelper oauth \
                  request_timeout_ms tools displayName toolPermissions",
            ..COMMON
        },
        variables: Variables::Braces,
        reserved: &["workspace", "claude-in-chrome"], // [M] 2.1.325
        next: "start a new session; `claude mcp list` or `/mcp` shows the server",
        next_in_project: Some(
            "start `claude` in the project and approve the server; `/mcp` shows it",
        ),
        ..FILE
    }),
    ..CLIENT
};

static CURSOR: ClientSpec = ClientSpec {
    id: "cursor",
    title: "Cursor",
    client_info: &["cursor-vscode"], // [P]
    names: NameRules {
        alphabet: WORD, // "alphanumeric and underscores" (webstudio#5960, 2026-07-30)
        // server + tool ≤ 60 combined or filtered out (composio#2788, PostHog#51483)
        total: 60,
        prefix: Some(("", ":")),
        max: 50,
        ..REFUSED
    },
    // 40, later 80 (Snowflake#77; a report of February 2026 still says 80)
    budget: Some(Budget { tools: 80, beyond: "warns and may leave tools out" }),
    started_from: StartedFrom::Desktop,
    config: Some(ConfigFile {
        paths: everywhere(&[home(".cursor/mcp.json")]),
        project: Some(".cursor/mcp.json"),
        entry: EntryWords { own: "envFile auth", ..COMMON },
        variables: Variables::Env { folders: true, inputs: false, files: false },
        next: "open Cursor Settings → MCP and switch the server on",
        ..FILE
    }),
};

static VS_CODE: ClientSpec = ClientSpec {
    id: "vscode",
    title: "VS Code",
    // [P]; Insiders has a name of its own (productService.nameLong)
    client_info: &["Visual Studio Code", "Visual Studio Code - Insiders", "Visual-Studio-Code"],
    names: NameRules {
        // warns outside [a-z0-9_-] (vscode#243602)
        alphabet: Alphabet { upper: false, dash: true, digit_first: true },
        // `mcp_<server≤13>_`, McpToolName.MaxPrefixLen = 18, total 64 [S]
        prefix: Some(("mcp_", "_")),
        max: 46,
        ..REWRITTEN
    },
    // 128 per request
    budget: Some(Budget { tools: 128, beyond: "groups tools and loads them on demand" }),
    started_from: StartedFrom::DesktopWithShell,
    config: Some(ConfigFile {
        paths: Paths {
            also_read: &[
                settings("Code/User/profiles/*/mcp.json"),
                settings("Code/User/mcp.json"),
                settings("Code - Insiders/User/mcp.json"),
                settings("Code - Insiders/User/profiles/*/mcp.json"),
            ],
            // who has Insiders only has its file there
            ..everywhere(&[
                of_program("Code", "User/mcp.json"),
                of_program("Code - Insiders", "User/mcp.json"),
                settings("Code/User/mcp.json"),
            ])
        },
        project: Some(".vscode/mcp.json"),
        key: "servers",
        entry: EntryWords {
            transport: TYPED,
            cwd: true,
            remote: Some(RemoteWords { http_may_be_sse: true, ..REMOTE }),
            own: "envFile dev sandboxEnabled sandbox oauth",
            ..COMMON
        },
        variables: Variables::Env { folders: true, inputs: true, files: false },
        next: "run `MCP: List Servers` from the command palette and start it",
        ..FILE
    }),
};

static WINDSURF: ClientSpec = ClientSpec {
    id: "windsurf",
    title: "Windsurf",
    client_info: &["windsurf-client", "Windsurf"], // [P]
    names: NameRules {
        // nothing is published: what the model APIs behind it take
        alphabet: LETTER_FIRST,
        // room for a prefix of its own
        prefix: Some(("mcp__", "__")),
        max: 48,
        ..REFUSED
    },
    budget: Some(Budget { tools: 100, beyond: "takes no more" }), // [V]
    started_from: StartedFrom::Desktop,
    config: Some(ConfigFile {
        // the second is that of the plugin for JetBrains
        paths: everywhere(&[
            home(".codeium/windsurf/mcp_config.json"),
            home(".codeium/mcp_config.json"),
        ]),
        entry: EntryWords {
            remote: Some(RemoteWords { url: "serverUrl", ..REMOTE }),
            switch: Switch::Disabled,
            tools: ToolWords { hidden: Some("disabledTools"), ..COMMON.tools },
            ..COMMON
        },
        variables: Variables::Env { folders: false, inputs: false, files: true },
        next: "open Windsurf Settings → Cascade → MCP servers and refresh",
        ..FILE
    }),
};

static ZED: ClientSpec = ClientSpec {
    id: "zed",
    title: "Zed",
    client_info: &["Zed"], // [P]
    names: NameRules {
        // 64, [A-Za-z0-9_-]; only duplicates are prefixed with the server id [S]
        alphabet: LETTER_FIRST,
        prefix: Some(("", "_")),
        max: 50,
        ..REWRITTEN
    },
    started_from: StartedFrom::Desktop,
    config: Some(ConfigFile {
        paths: Paths {
            linux: &[xdg_config("zed/settings.json")],
            mac: &[home(".config/zed/settings.json")],
            windows: &[settings("Zed/settings.json")],
            also_read: &[],
        },
        project: Some(".zed/settings.json"),
        key: "context_servers",
        entry: EntryWords {
            switch: Switch::Enabled,
            timeout: Some(SECONDS),
            own: "source remote oauth",
            ..COMMON
        },
        next: "Zed reads the file at once; the Agent Panel's settings show the server",
        ..FILE
    }),
    ..CLIENT
};

static CODEX: ClientSpec = ClientSpec {
    id: "codex",
    title: "Codex",
    client_info: &["codex-mcp-client", "Codex"], // [P]
    names: NameRules {
        alphabet: WORD, // `-` becomes `_` [S][M]
        // namespace `mcp__<server>` + name ≤ 128, else cut with a hash of its own [S][M]
        total: 128,
        prefix: Some(("mcp__", "__")),
        max: 112,
        ..REWRITTEN
    },
    config: Some(ConfigFile {
        paths: everywhere(&[in_variable("CODEX_HOME", "config.toml"), home(".codex/config.toml")]),
        project: Some(".codex/config.toml"),
        format: FileFormat::Toml,
        key: "mcp_servers",
        entry: EntryWords {
            named_variables: Some(NamedVariables { key: "env_vars", keyring: false }),
            cwd: true,
            remote: Some(RemoteWords {
                headers: "http_headers",
                header_variables: Some(HeaderVariables {
                    each: "env_http_headers",
                    bearer: "bearer_token_env_var",
                }),
                ..REMOTE
            }),
            switch: Switch::Enabled,
            tools: ToolWords {
                shown: Some("enabled_tools"),
                hidden: Some("disabled_tools"),
                ..COMMON.tools
            },
            timeout: Some(TimeoutWords { key: "tool_timeout_sec", ..SECONDS }),
            own: "http_headers_helper startup_timeout_sec startup_timeout_ms required \
                  supports_parallel_tool_calls default_tools_approval_mode scopes oauth_resource environment_id",
            // Codex refuses a file with a value it does not expect [S].
            own_shaped: &[
                ("tools", ValueShape::Object),
                ("oauth", ValueShape::With(&["client_id", "callback_port"])),
                ("auth", ValueShape::Text),
            ],
            // Codex starts its first turn without the tools of a server it does not wait for, and does
            // not ask again [M]; it ends a call after 300 s [S], Trunkline after 600.
            defaults: &[
                ("startup_timeout_sec", Literal::Number(30)),
                ("tool_timeout_sec", Literal::Number(600)),
                ("required", Literal::Flag(true)),
            ],
            ..COMMON
        },
        // a short list and those named [S]
        env_policy: EnvPolicy::Named(&[
            "HOME", "LOGNAME", "PATH", "SHELL", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ",
        ]),
        next: "start a new session; `codex mcp list` shows the server",
        next_in_project: Some(
            "start `codex` in the project and trust it; `codex mcp list` shows the server",
        ),
        note: Some(
            "`required = true` lets Codex wait for Trunkline before the first turn; without it the \
             model's first request has no tools",
        ),
        ..FILE
    }),
    ..CLIENT
};

static GEMINI: ClientSpec = ClientSpec {
    id: "gemini",
    title: "Gemini CLI",
    client_info: &["gemini-cli-mcp-client", "gemini-cli"], // [P]
    names: NameRules {
        // [a-zA-Z_][a-zA-Z0-9_.:-]: more than we use; `.` and `:` are kept [S][M]
        alphabet: WORD_AND_DASH,
        // over 63: first 30 + `...` + last 30, so names that differ in the middle collide [S][M]
        total: 63,
        prefix: Some(("mcp_", "_")),
        max: 49,
        bad_character: Fate::Kept,
        too_long: Fate::Rewritten,
    },
    config: Some(ConfigFile {
        paths: everywhere(&[
            in_variable("GEMINI_CLI_HOME", ".gemini/settings.json"),
            home(".gemini/settings.json"),
        ]),
        project: Some(".gemini/settings.json"),
        entry: GEMINI_WORDS,
        variables: Variables::Shell,
        env_policy: EnvPolicy::Referred, // what looks like a secret is held back otherwise [S]
        next: "start a new session; `gemini mcp list` shows the server",
        next_in_project: Some(
            "start `gemini` in the project and trust the folder; `gemini mcp list` shows the server",
        ),
        ..FILE
    }),
    ..CLIENT
};

static GOOSE: ClientSpec = ClientSpec {
    id: "goose",
    title: "Goose",
    client_info: &["goose"], // `goose-cli`, `goose-desktop` [T]
    names: NameRules {
        alphabet: LETTER_FIRST, // sent to the model API as they are
        prefix: Some(("", "__")),
        max: 50,
        ..REFUSED
    },
    config: Some(ConfigFile {
        paths: Paths {
            // on macOS as on Linux [S]
            windows: &[
                in_variable("GOOSE_PATH_ROOT", "config/config.yaml"),
                settings("Block/goose/config/config.yaml"),
            ],
            ..everywhere(&[
                in_variable("GOOSE_PATH_ROOT", "config/config.yaml"),
                xdg_config("goose/config.yaml"),
            ])
        },
        format: FileFormat::Yaml,
        key: "extensions",
        entry: EntryWords {
            transport: TransportWords { http: Some("streamable_http"), sse: None, ..TYPED },
            command: "cmd",
            named: true,
            env: "envs",
            named_variables: Some(NamedVariables { key: "env_keys", keyring: true }),
            remote: Some(RemoteWords { url: "uri", speaks_sse: false, ..REMOTE }),
            switch: Switch::EnabledAlways,
            tools: ToolWords {
                shown: Some("available_tools"),
                hidden: None,
                none_shown_means_all: true,
                all: None,
            },
            timeout: Some(SECONDS),
            built_in: &["builtin", "platform", "inline_python", "frontend"],
            defaults: &[
                ("enabled", Literal::Flag(true)),
                ("description", Literal::Text("Every MCP server of this machine, behind one")),
            ],
            own: "name display_name description bundled",
            ..COMMON
        },
        next: "start a new session; `goose info -v` or `/extension` shows it",
        ..FILE
    }),
    ..CLIENT
};

static CLINE: ClientSpec = ClientSpec {
    id: "cline",
    title: "Cline",
    client_info: &["Cline"], // [P]
    names: NameRules {
        alphabet: WORD_AND_DASH, // every other character becomes `_` [S]
        // `server__tool` ≤ 64, else cut with eight digits of its own [S]
        prefix: Some(("", "__")),
        max: 50,
        ..REWRITTEN
    },
    started_from: StartedFrom::Desktop,
    config: Some(ConfigFile {
        // the newest first
        paths: everywhere(&[
            home(".cline/data/settings/cline_mcp_settings.json"),
            home(".cline/mcp.json"),
            settings(
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            settings(
                "Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
        ]),
        entry: EntryWords {
            transport: TransportWords { http: Some("streamableHttp"), ..TYPED },
            cwd: true,
            remote: Some(RemoteWords { untyped_is_sse: true, ..REMOTE }),
            switch: Switch::Disabled,
            timeout: Some(TimeoutWords { longest: Some(3600.0), ..SECONDS }),
            own: "autoApprove oauth metadata remoteConfigured",
            ..COMMON
        },
        next: "Cline reads the file at once; its MCP servers panel shows the server",
        ..FILE
    }),
    ..CLIENT
};

static OPENAI: ClientSpec = ClientSpec {
    id: "openai",
    title: "OpenAI API",
    client_info: &["openai-mcp", "ChatGPT"], // [T]
    names: NameRules {
        // ^[a-zA-Z0-9_-]+$, ≤ 64 (codex#8174, cline#11885)
        alphabet: LETTER_FIRST,
        // room for a host that prefixes as Claude Code does
        prefix: Some(("mcp__", "__")),
        max: 48,
        ..REFUSED
    },
    budget: Some(Budget { tools: 128, beyond: "refuses the request" }), // zed#32946
    ..CLIENT
};
