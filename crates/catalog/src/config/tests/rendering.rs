//! What the user sees, to the letter.

use super::{read, rendered, server};
use crate::config::Rules::{Full, Simple};
use crate::config::{Problems, Style};

#[test]
fn sc_005_a_problem_looks_like_a_compiler_error() {
    let text = r#"{
  "mcpServers": {
    "fs": {
      "comand": "npx",
      "args": "-y"
    },



    "postgres": {
      "command": "node", "env": {
        "DATABASE_URL": "${DATABASE_URL}"
      }
    }
  }
}"#;
    let expected = r#"error[invalid_schema]: missing required field `command` ($.mcpServers.fs.command)
 --> mcp.json:4:7
  |
4 |       "comand": "npx",
  |       ^^^^^^^^
  = help: did you mean `command`?

error[invalid_schema]: `args` must be an array of strings, found a string ($.mcpServers.fs.args)
 --> mcp.json:5:15
  |
5 |       "args": "-y"
  |               ^^^^
  = help: write ["-y", …], one string for each argument

error[missing_env_var]: environment variable `DATABASE_URL` is not set (mcpServers.postgres.env.DATABASE_URL)
  --> mcp.json:12:26
   |
12 |         "DATABASE_URL": "${DATABASE_URL}"
   |                          ^^^^^^^^^^^^^^^
   = help: set it before the start, or write ${DATABASE_URL:-default}

error: mcp.json has 3 problems; nothing was started
"#;
    assert_eq!(rendered(text, Full), expected);
}

#[test]
fn sc_005_a_syntax_error_keeps_its_caret_behind_tabs() {
    let expected = "error[invalid_json]: expected `,` or `}`, found a string
 --> mcp.json:2:10
  |
2 | \t\t\"a\": * \"b\": \"*\"}
  | \t\t       ^
  = help: a `,` is missing before it

error: mcp.json has 1 problem; nothing was started
";
    assert_eq!(rendered("{\n\t\t\"a\": 1 \"b\": \"x\"}", Full), expected);
}

#[test]
fn warnings_have_no_code_and_no_summary() {
    let expected = "warning: `mcpServers` is empty: there is no server to start ($.mcpServers)\n --> mcp.json:1:16\n  |\n1 | {\"mcpServers\": {}}\n  |                ^^\n";
    assert_eq!(rendered("{\"mcpServers\": {}}", Simple), expected);
    assert_eq!(rendered(&server("\"command\": \"a\""), Simple), "");
}

#[test]
fn a_file_that_was_not_read_has_no_place() {
    let expected = "error[file_not_found]: config file not found: x.json\n = help: check the path given with --config\n\nerror: nothing was started\n";
    assert_eq!(Problems::file_not_found("x.json").render(Style::Plain), expected);
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let problems = read(&server("\"command\": \"$UNSET\""), Full).unwrap_err();
    let coloured = problems.render(Style::Colour);
    assert!(coloured.starts_with("\u{1b}[1;31merror[missing_env_var]\u{1b}[0m: "));
    let mut plain = coloured;
    for code in ["0", "1", "1;31", "1;33", "1;34"] {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(plain, problems.render(Style::Plain));
}

#[test]
fn fr_010_json_output_carries_everything() {
    let text = "{\"mcpServers\": {\"a\\\"b\": {\"args\": 1, \"command\": \"${U}\"}}}";
    let json: serde_json::Value =
        serde_json::from_str(&read(text, Full).unwrap_err().to_json()).unwrap();
    let expected = serde_json::json!({"errors": [
        {
            "code": "invalid_schema", "path": "$.mcpServers[\"a\\\"b\"].args",
            "message": "`args` must be an array of strings, found a number",
            "help": "write [\"-y\", …], one string for each argument",
            "file": "mcp.json", "line": 1, "column": 34,
        },
        {
            "code": "missing_env_var", "path": "$.mcpServers[\"a\\\"b\"].command",
            "message": "environment variable `U` is not set (mcpServers[\"a\\\"b\"].command)",
            "help": "set it before the start, or write ${U:-default}",
            "variable": "U", "location": "mcpServers[\"a\\\"b\"].command",
            "file": "mcp.json", "line": 1, "column": 49,
        },
    ]});
    assert_eq!(json, expected);

    let missing: serde_json::Value =
        serde_json::from_str(&Problems::file_not_found("x").to_json()).unwrap();
    assert_eq!(missing["errors"][0]["code"], "file_not_found");
    assert_eq!(missing["errors"][0].get("line"), None);

    let warnings = read("{\"mcpServers\": {}}", Full).unwrap().warnings.to_json();
    let warnings: serde_json::Value = serde_json::from_str(&warnings).unwrap();
    assert_eq!(warnings["errors"], serde_json::json!([]));
    assert_eq!(warnings["warnings"][0]["line"], 1);
}
