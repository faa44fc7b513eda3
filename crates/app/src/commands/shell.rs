//! `trunkline completions` and `trunkline man`.

use std::io;
use std::path::Path;

use clap_mangen::Man as Page;

use crate::cli::{self, Completions, Man};
use crate::client::did_you_mean;
use crate::{FAILED, USAGE, console};

const NAME: &str = "trunkline";

pub(crate) fn completions(asked: &Completions) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut cli::definition(), NAME, &mut script);
    console::out_bytes(&script)
}

pub(crate) fn man(asked: &Man) -> u8 {
    if let Some(dir) = &asked.dir {
        return match write_all(dir) {
            Ok(count) => console::out(&format!("{count} pages in {}\n", dir.display())),
            Err(error) => console::problem(&format!("error: {}: {error}\n", dir.display()), FAILED),
        };
    }
    let all = pages();
    let wanted = asked.command.as_deref();
    let name = wanted.map_or_else(|| NAME.to_owned(), |wanted| format!("{NAME}-{wanted}"));
    match all.into_iter().find(|(known, _)| *known == name) {
        Some((_, command)) => match render(command) {
            Ok(page) => console::out_bytes(&page),
            Err(error) => console::problem(&format!("error: {error}\n"), FAILED),
        },
        None => {
            let known = cli::definition();
            let names: Vec<&str> = known.get_subcommands().map(clap::Command::get_name).collect();
            let word = wanted.unwrap_or_default();
            let near = did_you_mean(word, names);
            console::problem(&format!("error: there is no command `{word}`{near}\n"), USAGE)
        }
    }
}

fn write_all(dir: &Path) -> io::Result<usize> {
    std::fs::create_dir_all(dir)?;
    let pages = pages();
    let count = pages.len();
    for (name, command) in pages {
        std::fs::write(dir.join(format!("{name}.1")), render(command)?)?;
    }
    Ok(count)
}

/// The program and each of its commands, by the names of their pages.
fn pages() -> Vec<(String, clap::Command)> {
    let mut root = cli::definition().version(env!("CARGO_PKG_VERSION"));
    root.build();
    let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
    let subs = shown.map(|command| {
        let name = format!("{NAME}-{}", command.get_name());
        (name, command.clone().version(env!("CARGO_PKG_VERSION")))
    });
    let subs: Vec<_> = subs.collect();
    std::iter::once((NAME.to_owned(), root.clone())).chain(subs).collect()
}

fn render(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Page::new(command).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_that_says_what_it_does() {
        let pages = pages();
        assert!(pages.len() > 15, "{}", pages.len());
        for (name, command) in pages {
            let page = String::from_utf8(render(command).unwrap()).unwrap();
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
        }
        assert_eq!(man(&Man { command: Some("instal".to_owned()), dir: None }), USAGE);
    }
}
