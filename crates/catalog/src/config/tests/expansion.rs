//! References in a whole file: where they are expanded and where a missing one is reported.

use super::{check, read, server};
use crate::config::Rules::{Full, Simple};
use crate::config::Transport;

#[test]
fn fr_002_all_missing_variables_are_reported_with_name_and_location() {
    let text = r#"{
  "mcpServers": {
    "postgres": {
      "command": "node",
      "env": {
        "DATABASE_URL": "${DATABASE_URL}",
        "OTHER": "$OTHER/${env:THIRD}"
      }
    }
  }
}"#;
    for rules in [Full, Simple] {
        check(
            text,
            rules,
            &[
                "missing_env_var $.mcpServers.postgres.env.DATABASE_URL 6:26 environment variable `DATABASE_URL` is not set (mcpServers.postgres.env.DATABASE_URL) | set it before the start, or write ${DATABASE_URL:-default}",
                "missing_env_var $.mcpServers.postgres.env.OTHER 7:19 environment variable `OTHER` is not set (mcpServers.postgres.env.OTHER)",
                "missing_env_var $.mcpServers.postgres.env.OTHER 7:26 environment variable `THIRD` is not set (mcpServers.postgres.env.OTHER)",
            ],
        );
    }
    let problems = read(text, Full).unwrap_err();
    assert_eq!(problems.list[0].variable.as_deref(), Some("DATABASE_URL"));
}

#[test]
fn fr_002_the_place_is_the_reference_itself_behind_escapes_and_wide_characters() {
    let table = [
        (r#""$U""#, "1:35", 2),
        (r#""ab${U}""#, "1:37", 4),
        (r#""é\n\u00e9😀${U}""#, "1:45", 4),
        (r#""\ud83d\ude00$U x""#, "1:47", 2),
        (r#""\u0024U""#, "1:35", 7),
        (r#""$\u0055""#, "1:35", 7),
    ];
    for (value, place, width) in table {
        let text = server(&format!(r#""command": {value}"#));
        check(
            &text,
            Full,
            &[&format!(
                "missing_env_var $.mcpServers.s.command {place} environment variable `U` is not set (mcpServers.s.command)"
            )],
        );
        let problems = read(&text, Full).unwrap_err();
        let span = problems.list[0].span.unwrap();
        assert_eq!(span.end - span.start, width, "{value}");
        let quote = problems.list[0].quote.as_ref().unwrap();
        assert_eq!(quote.width, width, "{value}");
    }
}

#[test]
fn fr_002_broken_references() {
    let known = "write $NAME, ${NAME}, ${NAME:-default} or ${env:NAME}";
    let table = [
        ("x${A", "36", "`${` without a closing `}`", known),
        ("${}", "35", "this reference names no variable", known),
        ("${A B}", "35", "this is not the name of an environment variable", known),
        ("${input:id}", "35", "this form of reference is not known", known),
        (
            "${A:-${B}}",
            "35",
            "a default cannot contain another reference",
            "a default is plain text, as in ${NAME:-text}",
        ),
    ];
    for (value, column, message, help) in table {
        check(
            &server(&format!(r#""command": "{value}""#)),
            Full,
            &[&format!("invalid_schema $.mcpServers.s.command 1:{column} {message} | {help}")],
        );
    }
}

#[test]
fn fr_002_the_help_knows_other_spellings() {
    let missing = |name| {
        format!(
            "missing_env_var $.mcpServers.s.command 1:35 environment variable `{name}` is not set (mcpServers.s.command)"
        )
    };
    check(
        &server(r#""command": "${api_key}""#),
        Full,
        &[&format!("{} | did you mean ${{API_KEY}}? It is set", missing("api_key"))],
    );
    check(
        &server(r#""command": "${workspaceFolder}""#),
        Full,
        &[&format!(
            "{} | this is a variable of an editor: write the path itself, or use $HOME",
            missing("workspaceFolder")
        )],
    );
}

#[test]
fn sc_004_every_string_value_is_expanded_and_no_key() {
    let text = server(
        r#""command": "$HOME/bin", "args": ["$HOME", "${UNSET:-d}", "$5"], "env": {"$HOME": "${API_KEY}"}, "cwd": "${HOME}""#,
    );
    let config = read(&text, Full).unwrap();
    let expected = Transport::Stdio {
        command: "/home/me/bin".to_owned(),
        args: ["/home/me", "d", "$5"].map(str::to_owned).to_vec(),
        env: vec![("$HOME".to_owned(), "s3cr3t-value".to_owned())],
        cwd: Some("/home/me".to_owned()),
    };
    assert!(config.servers[0].transport == expected);
}

#[test]
fn sc_004_the_same_missing_variable_is_reported_at_each_place() {
    check(
        &server(r#""command": "$U", "args": ["$U"]"#),
        Full,
        &[
            "missing_env_var $.mcpServers.s.command 1:35 environment variable `U` is not set (mcpServers.s.command)",
            "missing_env_var $.mcpServers.s.args[0] 1:50 environment variable `U` is not set (mcpServers.s.args[0])",
        ],
    );
}
