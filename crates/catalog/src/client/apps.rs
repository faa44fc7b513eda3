//! Rows of editors and desktop programs beside those of `table`: Continue, Kiro, LM Studio.
//!
//! All three were checked by file only.

use super::defaults::{
    CLIENT, COMMON, FILE, LETTER_FIRST, MILLISECONDS, REFUSED, REWRITTEN, TYPED, WORD_AND_DASH,
    everywhere, home, in_variable,
};
use super::spec::{
    Alphabet, ClientSpec, ConfigFile, EntryWords, NameRules, Paths, StartedFrom, Switch, ToolWords,
    TransportWords, Variables,
};

pub(super) static CONTINUE: ClientSpec = ClientSpec {
    id: "continue",
    title: "Continue",
    client_info: &["continue-client", "continue-cli-client"], // [S]
    names: NameRules {
        alphabet: LETTER_FIRST,
        prefix: Some(("", "_")), // only where two servers have one name [S]
        max: 50,
        ..REWRITTEN
    },
    started_from: StartedFrom::Desktop,
    config: Some(ConfigFile {
        // Continue reads every JSON file of this folder, in the words of Claude Code [S]. Servers that
        // its users wrote are mostly in a list of `config.yaml`, which is read and emptied, not filled.
        paths: Paths {
            also_read: &[home(".continue/config.yaml")],
            ..everywhere(&[
                in_variable("CONTINUE_GLOBAL_DIR", "mcpServers/mcp.json"),
                home(".continue/mcpServers/mcp.json"),
            ])
        },
        project: Some(".continue/mcpServers/mcp.json"),
        entry: EntryWords {
            transport: TransportWords { http: Some("streamable-http"), ..TYPED },
            cwd: true,
            own: "connectionTimeout requestOptions faviconUrl",
            ..COMMON
        },
        variables: Variables::Braces,
        next: "Continue reads the file at once; Settings → Tools shows the server",
        ..FILE
    }),
    ..CLIENT
};

pub(super) static KIRO: ClientSpec = ClientSpec {
    id: "kiro",
    title: "Kiro",
    client_info: &["Kiro", "Q DEV CLI"], // [T]
    names: NameRules {
        // a letter, then letters, digits and `_` (its predecessor's source) [S]
        alphabet: Alphabet { upper: true, dash: false, digit_first: false },
        prefix: Some(("", "___")),
        max: 50,
        ..REFUSED
    },
    started_from: StartedFrom::DesktopWithShell,
    config: Some(ConfigFile {
        paths: everywhere(&[home(".kiro/settings/mcp.json")]),
        project: Some(".kiro/settings/mcp.json"),
        entry: EntryWords {
            switch: Switch::Disabled,
            tools: ToolWords { hidden: Some("disabledTools"), ..COMMON.tools },
            timeout: Some(MILLISECONDS),
            own: "autoApprove oauth",
            ..COMMON
        },
        variables: Variables::Braces,
        next: "Kiro reads the file at once; its MCP panel, or `/mcp` in its CLI, shows the server",
        ..FILE
    }),
    ..CLIENT
};

pub(super) static LM_STUDIO: ClientSpec = ClientSpec {
    id: "lmstudio",
    title: "LM Studio",
    client_info: &["lmstudio", "LM Studio"], // [T]
    names: NameRules {
        alphabet: WORD_AND_DASH, // nothing is published: what model APIs take
        max: 50,
        ..REFUSED
    },
    started_from: StartedFrom::Desktop,
    config: Some(ConfigFile {
        // the second where an older version made the folder (lmstudio-bug-tracker#1371)
        paths: everywhere(&[home(".lmstudio/mcp.json"), home(".cache/lm-studio/mcp.json")]),
        entry: EntryWords { timeout: Some(MILLISECONDS), ..COMMON },
        next: "LM Studio reads the file at once; switch the server on in the Program tab",
        ..FILE
    }),
    ..CLIENT
};
