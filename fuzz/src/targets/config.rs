//! Config files: any text is read or refused with problems that can be shown, and no value of a variable is in
//! them.

use trunkline_catalog::config::{ConfigSource, Rules, Style, literal_secrets, load, masked};

use crate::input::settings;

/// What every variable holds: another value for each input, or the fuzzer learns it and writes it into the file.
fn secret_for(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("Zq7-{sum:016x}-9Xw")
}

pub(crate) fn run(bytes: &[u8]) {
    let Some(([rules], text)) = settings::<1>(bytes) else { return };
    let rules = if rules % 2 == 0 { Rules::Full } else { Rules::Simple };
    let source = ConfigSource { name: "mcp.json", text };
    let secret = &*secret_for(bytes);
    let variable = |name: &str| (!name.starts_with('N')).then(|| secret.to_owned());
    let shown = match load(&source, rules, &variable) {
        Ok(config) => {
            let debug = format!("{config:?}");
            assert!(!debug.contains(secret), "a value of a variable in the config's Debug");
            config.warnings.render(Style::Plain)
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            let _ = problems.render(Style::Colour);
            problems.render(Style::Plain)
        }
    };
    assert!(!shown.contains(secret), "a value of a variable in a problem");
    assert!(!shown.contains('\u{1b}'), "an escape sequence of the file in a problem");
    if let Ok(text) = str::from_utf8(text) {
        let _ = (masked(text), literal_secrets(text));
    }
}
