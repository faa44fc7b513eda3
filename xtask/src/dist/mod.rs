//! What is shipped: the programs, and a package of each kind that brings them to people.
//!
//! `dist` builds the programs in release and packs them into `target/dist`; `judge` packs programs
//! that are there already and tries every package as its user would.

mod check;
mod deb;
mod extras;
mod file;
mod mcpb;
mod npm;
mod programs;
mod sbom;

use std::path::{Path, PathBuf};

use crate::run;
use programs::Programs;

const USAGE: &str = "usage: cargo xtask dist [--programs DIR] [--out DIR] [--check]

  --programs DIR  pack the programs in DIR instead of building them in release
  --out DIR       where to [default: target/dist]
  --check         try every package afterwards";

/// Everything that is packed, and where it lies.
struct Dist {
    programs: Programs,
    /// Completions and the manual page.
    extras: Vec<file::Placed>,
    out: PathBuf,
    haste: Haste,
}

/// How much time is spent on small packages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    /// They are shipped.
    None,
    /// They are tried, and thrown away.
    Much,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let Asked { programs, out, check } = Asked::read(arguments)?;
    let programs = match programs {
        Some(folder) => Programs::find(&folder)?,
        None => Programs::build()?,
    };
    let dist = Dist::pack(programs, &out, Haste::None)?;
    if check { check::run(&dist) } else { Ok(()) }
}

/// The name of a package, and what its trial came to.
pub type Judged = (&'static str, Result<(), String>);

/// Every kind of package, made of the programs in this folder: its name, and whether it keeps its
/// promises.
pub fn judge_each(programs: &Path) -> Result<Vec<Judged>, String> {
    let out = file::target().join("dist-check");
    let dist = Dist::pack(Programs::find(programs)?, &out, Haste::Much)?;
    Ok(check::each(&dist).collect())
}

/// Where `cargo build` leaves the programs.
pub fn built() -> PathBuf {
    file::target().join("debug")
}

#[derive(Default)]
struct Asked {
    programs: Option<PathBuf>,
    out: PathBuf,
    check: bool,
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self { out: file::target().join("dist"), ..Self::default() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut folder = || rest.next().map(PathBuf::from).ok_or_else(|| USAGE.to_owned());
            match argument.as_str() {
                "--programs" => asked.programs = Some(folder()?),
                "--out" => asked.out = folder()?,
                "--check" => asked.check = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(asked)
    }
}

impl Dist {
    fn pack(programs: Programs, out: &Path, haste: Haste) -> Result<Self, String> {
        file::emptied(out)?;
        let out = out.canonicalize().map_err(|error| format!("{}: {error}", out.display()))?;
        run::announce(&format!("dist: {} for {}", programs.version, programs.platform()));
        let extras = extras::made(&programs, &out.join("extras"))?;
        let dist = Self { programs, extras, out, haste };
        let mut made = [deb::pack(&dist)?, npm::pack(&dist)?, mcpb::pack(&dist)?].concat();
        made.push(sbom::made(&dist.programs.version, &dist.out)?);
        made.push(sbom::sums(&made, &dist.out)?);
        for path in made {
            let size = path.metadata().map_or(0, |found| found.len());
            println!("{:>9} KiB  {}", size >> 10, path.display());
        }
        println!("{}", dist.programs.links());
        Ok(dist)
    }
}
