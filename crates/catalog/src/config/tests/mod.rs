//! What a config file leads to, as tables around one `check()`.

mod custom;
mod expansion;
mod filter;
mod limits;
mod presets;
mod privacy;
mod rendering;
mod sandbox;
mod schema;
mod syntax;
mod valid;

use super::{Config, ConfigSource, Problems, Rules, Style, load};

/// The environment of all these tests.
fn environment(name: &str) -> Option<String> {
    let value = match name {
        "HOME" => "/home/me",
        "API_KEY" => "s3cr3t-value",
        "EMPTY" => "",
        "NUL" => "a\0b",
        "URL" => "https://example.com",
        _ => return None,
    };
    Some(value.to_owned())
}

fn read(text: &str, rules: Rules) -> Result<Config, Problems> {
    load(&ConfigSource { name: "mcp.json", text: text.as_bytes() }, rules, &environment)
}

/// Loads `text` and compares its problems: the expected lines are
/// `code path line:column message`, with ` | help` where the help matters.
#[track_caller]
fn check(text: &str, rules: Rules, expected: &[&str]) {
    let found = match read(text, rules) {
        Ok(config) => lines(&config.warnings, expected),
        Err(problems) => lines(&problems, expected),
    };
    assert_eq!(found, expected, "\n{text}");
}

/// Checks a table with rows `text => problem`, where `file` makes a config of the text and `⏎`
/// stands for a line break. `prefix` starts every problem.
#[track_caller]
fn check_rows(rules: &[Rules], file: impl Fn(&str) -> String, prefix: &str, table: &str) {
    for row in table.lines().filter(|row| !row.trim().is_empty()) {
        let (text, expected) = row.split_once(" => ").expect(row);
        let text = file(text.trim().replace('⏎', "\n").as_str());
        let expected = format!("{prefix}{}", expected.trim_start());
        rules.iter().for_each(|rules| check(&text, *rules, &[&expected]));
    }
}

fn lines(problems: &Problems, expected: &[&str]) -> Vec<String> {
    let with_help = |index: usize| expected.get(index).is_none_or(|line| line.contains(" | "));
    let line = |(index, problem): (usize, &super::Problem)| {
        let code = problem.code().map_or("warning", super::Code::as_str);
        let place = problem.place.expect("a place");
        let help = problem.help.as_deref().filter(|_| with_help(index));
        let help = help.map(|help| format!(" | {help}")).unwrap_or_default();
        format!("{code} {} {}:{} {}{help}", problem.path, place.line, place.column, problem.message)
    };
    problems.iter().enumerate().map(line).collect()
}

/// A config with one server `s` that has these members.
fn server(members: &str) -> String {
    format!(r#"{{"mcpServers": {{"s": {{{members}}}}}}}"#)
}

fn rendered(text: &str, rules: Rules) -> String {
    match read(text, rules) {
        Ok(config) => config.warnings.render(Style::Plain),
        Err(problems) => problems.render(Style::Plain),
    }
}
