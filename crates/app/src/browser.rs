//! Opens a URL in the user's browser.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::environment::Environment;

/// Opens the address; or why not. What becomes of it there is not known.
pub(crate) fn open(url: &str, environment: &Environment) -> Result<(), String> {
    let ways = ways(environment, cfg!(target_os = "macos"));
    if ways.is_empty() {
        return Err("there is no desktop here, and BROWSER is not set".to_owned());
    }
    let mut failed = Vec::new();
    for way in &ways {
        match start(&command(way, url)) {
            Ok(()) => return Ok(()),
            Err(why) => failed.push(format!("{way}: {why}")),
        }
    }
    Err(failed.join("; "))
}

/// What is tried, in this order: what the user has named, as other programs read it, then the desktop.
fn ways(environment: &Environment, is_mac: bool) -> Vec<String> {
    let named = environment.filled("BROWSER").unwrap_or_default();
    let named = named.split(':').map(str::trim).filter(|way| !way.is_empty());
    let shown = |name: &str| environment.filled(name).is_some();
    let desktop = match is_mac {
        true => Some("open"),
        // Without a display xdg-open falls back to text browsers, which would take over this terminal.
        false if shown("DISPLAY") || shown("WAYLAND_DISPLAY") => Some("xdg-open"),
        false => None,
    };
    named.chain(desktop).map(str::to_owned).collect()
}

/// The program and its arguments; `%s` stands for the address, which otherwise comes last.
fn command(way: &str, url: &str) -> Vec<String> {
    let mut words: Vec<String> = match Path::new(way).exists() {
        true => vec![way.to_owned()],
        false => way.split_whitespace().map(str::to_owned).collect(),
    };
    if words.iter().any(|word| word.contains("%s")) {
        for word in &mut words {
            *word = word.replace("%s", url);
        }
    } else {
        words.push(url.to_owned());
    }
    words
}

#[expect(clippy::disallowed_methods, reason = "the user's browser is no server, and outlives us")]
fn start(words: &[String]) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("it is empty".to_owned());
    };
    let mut command = Command::new(program);
    // Its output would mix with ours, and our input may be a pipe that is not for it.
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_named_goes_before_the_desktop() {
        for (variables, is_mac, expected) in [
            (&[][..], false, &[][..]),
            (&[("BROWSER", "")], false, &[]),
            (&[("BROWSER", "lynx")], false, &["lynx"]),
            (&[("BROWSER", "a %s: b :"), ("DISPLAY", ":0")], false, &["a %s", "b", "xdg-open"]),
            (&[("WAYLAND_DISPLAY", "wayland-0")], false, &["xdg-open"]),
            (&[], true, &["open"]),
        ] {
            assert_eq!(ways(&Environment::of(variables), is_mac), expected, "{variables:?}");
        }
    }

    #[test]
    fn the_address_is_one_argument() {
        let url = "https://a/?x=1&y=$(z)";
        for (way, expected) in [
            ("firefox", vec!["firefox", url]),
            ("firefox --new-tab", vec!["firefox", "--new-tab", url]),
            ("b --at=%s -q", vec!["b", "--at=https://a/?x=1&y=$(z)", "-q"]),
        ] {
            assert_eq!(command(way, url), expected);
        }
    }

    #[test]
    fn a_browser_that_is_not_there_is_named() {
        let environment = Environment::of(&[("BROWSER", "/nowhere/browser")]);
        let why = open("https://a/", &environment).unwrap_err();
        assert!(why.starts_with("/nowhere/browser: "), "{why}");
    }
}
