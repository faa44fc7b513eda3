//! The pages people read: commands that the program takes, links that lead somewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use kit::bin;
use kit::run::run;

#[test]
fn every_command_of_the_pages_is_one_the_program_takes() {
    let mut tried = 0;
    for page in pages() {
        for line in commands(&text(&page)) {
            for arguments in trunkline(&line) {
                // What stands behind `--` is another program's.
                let own = arguments.iter().take_while(|argument| *argument != "--");
                let mut command = Command::new(bin::trunkline());
                command.args(own).arg("--help");
                let done = run(command, b"");
                assert_eq!(done.code, Some(0), "{}: {line}\n{done}", page.display());
                tried += 1;
            }
        }
    }
    assert!(tried >= 30, "only {tried} commands were found");
}

#[test]
fn every_task_of_the_pages_is_one_of_the_repository() {
    let tasks = text(&root().join("xtask/src/main.rs"));
    let mut found = 0;
    for page in pages() {
        for line in commands(&text(&page)) {
            let Some(rest) = line.split("cargo xtask ").nth(1) else { continue };
            let task = rest.split_whitespace().next().unwrap_or_default();
            let known = tasks.contains(&format!("\"{task}\" =>")) || task == "COMMAND…";
            assert!(known, "{}: {line}", page.display());
            found += 1;
        }
    }
    assert!(found >= 5, "only {found} tasks were found");
}

#[test]
fn every_link_of_the_pages_leads_somewhere() {
    let mut followed = 0;
    for page in pages() {
        for link in links(&text(&page)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = page.parent().expect("a page lies in a folder");
            let to = if file.is_empty() { page.clone() } else { folder.join(file) };
            assert!(to.exists(), "{}: {link}", page.display());
            if !anchor.is_empty() {
                let anchors: Vec<String> = text(&to).lines().filter_map(anchor_of).collect();
                assert!(anchors.iter().any(|found| found == anchor), "{}: {link}", page.display());
            }
            followed += 1;
        }
    }
    assert!(followed >= 20, "only {followed} links were found");
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages at the top and everything in `docs`.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in ["docs", "docs/decisions"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("the folder is there");
        let files = entries.flatten().map(|entry| entry.path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|found| found == "md")));
    }
    let top = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"];
    pages.extend(top.map(|page| root().join(page)));
    pages.sort();
    pages
}

pub(crate) fn text(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The lines of all `sh` blocks, continued ones in one, without comments.
pub(crate) fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let lines = blocks.flat_map(|block| {
        let block = block.replace("\\\n", " ");
        block.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let bare = |line: String| line.split(" #").next().unwrap_or_default().trim().to_owned();
    lines.map(bare).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// The arguments of every Trunkline that a command line starts: by itself, by cargo, or by a program
/// that is told to (`claude mcp add … -- trunkline …`).
fn trunkline(line: &str) -> Vec<Vec<String>> {
    let words = words(line);
    let parts = words.split(|word| ["|", "&&", ";", ")"].contains(&word.as_str()));
    parts.filter_map(started).collect()
}

fn started(words: &[String]) -> Option<Vec<String>> {
    let is_assignment = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        })
    };
    let skipped = words.iter().take_while(|word| is_assignment(word) || *word == "sudo").count();
    let rest = words.get(skipped..)?;
    let behind = |rest: &[String]| {
        let end = rest.iter().position(|word| word.starts_with(['<', '>']));
        rest.get(..end.unwrap_or(rest.len())).map(<[String]>::to_vec)
    };
    let is_ours = |word: &String| word == "trunkline" || word.ends_with("/trunkline");
    if rest.first().is_some_and(is_ours) {
        return behind(&rest[1..]);
    }
    let dashes = rest.iter().position(|word| word == "--")?;
    match &rest[..dashes] {
        [cargo, run, ..] if cargo == "cargo" && run == "run" => behind(&rest[dashes + 1..]),
        _ if rest.get(dashes + 1).is_some_and(is_ours) => behind(&rest[dashes + 2..]),
        _ => None,
    }
}

/// Words as a shell sees them, as far as the pages need it: quotes join, and `$( … )` is a word.
fn words(line: &str) -> Vec<String> {
    let (mut all, mut word) = (Vec::new(), String::new());
    let (mut quote, mut depth, mut begun) = (None, 0_u32, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, begun) = (Some(c), true),
            (None, ' ') if depth == 0 => {
                if begun || !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => {
                depth += u32::from(c == '(');
                depth = depth.saturating_sub(u32::from(c == ')'));
                word.push(c);
            }
        }
    }
    if begun || !word.is_empty() {
        all.push(word);
    }
    all
}

/// The targets of `[text](target)` that are in the repository.
fn links(page: &str) -> Vec<String> {
    let prose: String = page.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let ours = targets.filter(|target| !target.contains("://") && !target.contains(' '));
    ours.map(str::to_owned).collect()
}

/// What a heading is linked by: small letters, digits, `-` and `_`, spaces as `-`.
fn anchor_of(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    Some(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect())
}

#[test]
fn a_line_is_read_as_a_shell_reads_it() {
    for (line, expected) in [
        ("trunkline check --config a", vec![vec!["check", "--config", "a"]]),
        ("A=$(x -y 3) sudo trunkline serve", vec![vec!["serve"]]),
        ("printf %s x | trunkline secret set a", vec![vec!["secret", "set", "a"]]),
        ("cargo run --release -- --config a < b", vec![vec!["--config", "a"]]),
        ("claude mcp add x trunkline -- /bin/trunkline --for y", vec![vec!["--for", "y"]]),
        ("claude mcp add --transport http trunkline http://x", vec![]),
        ("trunkline search \"two words\" > out", vec![vec!["search", "two words"]]),
        ("npm install trunkline", vec![]),
    ] {
        assert_eq!(trunkline(line), expected, "{line}");
    }
}
