//! Config files: any text is read or refused with problems that can be shown, and no value of a variable is in
//! them.

use trunkline_catalog::config::{ConfigSource, Rules, Style, literal_secrets, load, masked};

use crate::input::settings;

/// What every variable holds.
const SECRET: &str = "Zq7-value-of-a-variable-9Xw";

pub(crate) fn run(bytes: &[u8]) {
    let Some(([rules], text)) = settings::<1>(bytes) else { return };
    let rules = if rules % 2 == 0 { Rules::Full } else { Rules::Simple };
    let source = ConfigSource { name: "mcp.json", text };
    let variable = |name: &str| (!name.starts_with('N')).then(|| SECRET.to_owned());
    let shown = match load(&source, rules, &variable) {
        Ok(config) => {
            let debug = format!("{config:?}");
            assert!(!debug.contains(SECRET), "a value of a variable in the config's Debug");
            config.warnings.render(Style::Plain)
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            let _ = problems.render(Style::Colour);
            problems.render(Style::Plain)
        }
    };
    assert!(!shown.contains(SECRET), "a value of a variable in a problem");
    assert!(!shown.contains('\u{1b}'), "an escape sequence of the file in a problem");
    if let Ok(text) = str::from_utf8(text) {
        let _ = (masked(text), literal_secrets(text));
    }
}
