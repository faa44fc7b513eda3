//! What is shipped: the programs, and a package of each kind that brings them to people.
//!
//! `dist` builds the programs in release and packs them into `target/dist`; `judge` packs programs
//! that are there already and tries every package as its user would.

mod check;
mod deb;
mod extras;
mod file;
mod manifests;
mod mcpb;
mod musl;
mod npm;
mod platform;
mod programs;
mod rpm;
mod sbom;
mod tarball;
mod tree;

use std::path::{Path, PathBuf};

use crate::{packages, run};
use platform::{Platform, System};
use programs::Programs;

const USAGE: &str =
    "usage: cargo xtask dist [--programs DIR]... [--url URL] [--out DIR] [--check] [--quick]

  --programs DIR  pack the programs in DIR, of any platform, instead of building static ones for
                  Linux on this machine's processor in release
  --url URL       where people will download what is made: Homebrew and others need it
  --out DIR       where to [default: target/dist]
  --check         try every package afterwards
  --quick         do not spend time on small packages: they are only tried
       cargo xtask dist musl [--profile PROFILE] [x86_64|aarch64]...
                  only build static programs for Linux, and say where they are";

/// Everything that is packed, and where it lies.
struct Dist {
    /// For each platform.
    programs: Vec<Programs>,
    version: String,
    /// Completions and the manual page.
    extras: Vec<file::Placed>,
    /// From where people will download it.
    url: Option<String>,
    out: PathBuf,
    haste: Haste,
}

/// How much time is spent on small packages.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Haste {
    /// They are shipped.
    #[default]
    None,
    /// They are tried, and thrown away.
    Much,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    if let Some(("musl", rest)) =
        arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return build_only(rest);
    }
    let Asked { programs, url, out, check, haste } = Asked::read(arguments)?;
    let programs: Result<Vec<Programs>, String> = match programs.as_slice() {
        [] => Platform::BUILT.into_iter().filter(|it| it.is_here()).map(Programs::build).collect(),
        folders => folders.iter().map(|folder| Programs::find(folder)).collect(),
    };
    let dist = Dist::pack(programs?, url, &out, haste)?;
    if check { check::run(&dist) } else { Ok(()) }
}

/// `dist musl`: the programs alone.
fn build_only(arguments: &[String]) -> Result<(), String> {
    let (mut profile, mut platforms) = ("release", Vec::new());
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match (word, Platform::BUILT.into_iter().find(|it| it.processor() == word)) {
            ("--profile", _) => profile = rest.next().ok_or_else(|| USAGE.to_owned())?,
            (_, Some(platform)) => platforms.push(platform),
            _ => return Err(USAGE.to_owned()),
        }
    }
    if platforms.is_empty() {
        platforms.extend(Platform::BUILT);
    }
    for platform in platforms {
        println!("{}", musl::build(platform, profile)?.display());
    }
    Ok(())
}

/// What packs and tries packages; it is installed if it is missing.
pub fn install() -> Result<(), String> {
    packages::ensure("packages for Fedora and its kin are made by rpmbuild", &["rpm"], || {
        packages::on_path("rpmbuild")
    })
    .map(drop)
}

/// The name of a package, and what its trial came to.
pub type Judged = (&'static str, Result<(), String>);

/// Every kind of package, made of the programs in this folder: its name, and whether it keeps its
/// promises.
pub fn judge_each(programs: &Path) -> Result<Vec<Judged>, String> {
    let out = file::target().join("dist-check");
    let programs = vec![Programs::find(programs)?];
    let dist = Dist::pack(programs, Some(check::ADDRESS.to_owned()), &out, Haste::Much)?;
    Ok(check::each(&dist).collect())
}

/// Where `cargo build` leaves the programs.
pub fn built() -> PathBuf {
    file::target().join("debug")
}

#[derive(Default)]
struct Asked {
    programs: Vec<PathBuf>,
    url: Option<String>,
    out: PathBuf,
    check: bool,
    haste: Haste,
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self { out: file::target().join("dist"), ..Self::default() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| USAGE.to_owned());
            match argument.as_str() {
                "--programs" => asked.programs.push(PathBuf::from(value()?)),
                "--url" => asked.url = Some(value()?.trim_end_matches('/').to_owned()),
                "--out" => asked.out = PathBuf::from(value()?),
                "--check" => asked.check = true,
                "--quick" => asked.haste = Haste::Much,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(asked)
    }
}

impl Dist {
    fn pack(
        programs: Vec<Programs>,
        url: Option<String>,
        out: &Path,
        haste: Haste,
    ) -> Result<Self, String> {
        install()?;
        file::emptied(out)?;
        let out = out.canonicalize().map_err(|error| format!("{}: {error}", out.display()))?;
        let version = one_version(&programs)?;
        let names: Vec<String> = programs.iter().map(|it| it.platform.to_string()).collect();
        run::announce(&format!("dist: {version} for {}", names.join(", ")));
        // What every platform's program would print is asked of the first that runs here.
        let asked = programs.iter().find(|it| it.platform.is_here()).or(programs.first());
        let asked = asked.ok_or("there are no programs")?;
        let extras = extras::made(asked, &out.join("extras"))?;
        let dist = Self { programs, version, extras, url, out, haste };
        let mut made = dist.packages()?;
        made.extend(manifests::make(&dist)?);
        made.push(sbom::made(&dist)?);
        made.push(sbom::sums(&made, &dist.out)?);
        for path in made {
            let size = path.metadata().map_or(0, |found| found.len());
            println!("{:>9} KiB  {}", size >> 10, path.display());
        }
        for programs in &dist.programs {
            println!("{}", programs.links());
        }
        Ok(dist)
    }

    fn packages(&self) -> Result<Vec<PathBuf>, String> {
        let mut made = Vec::new();
        for programs in &self.programs {
            made.push(tarball::pack(self, programs)?);
            if programs.platform.system == System::Linux {
                made.push(deb::pack(self, programs)?);
                made.push(rpm::pack(self, programs)?);
                made.push(mcpb::pack(self, programs)?);
            }
        }
        made.extend(npm::pack(self)?);
        Ok(made)
    }

    /// The programs of this machine, which packages are tried with.
    fn here(&self) -> Result<&Programs, String> {
        let mut programs = self.programs.iter();
        let found = programs.find(|it| it.platform.is_here());
        found.ok_or_else(|| "there is no program for this machine to try packages with".to_owned())
    }
}

/// What is shipped together is of one version.
fn one_version(programs: &[Programs]) -> Result<String, String> {
    let version = programs.first().map(|it| it.version.clone()).ok_or("there are no programs")?;
    match programs.iter().find(|it| it.version != version) {
        None => Ok(version),
        Some(other) => Err(format!("the programs are of {version} and of {}", other.version)),
    }
}
