//! The programs that are packed: built or found, and what they need of a machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::platform::{Platform, System};
use super::{file, musl};

pub(super) const NAMES: [&str; 2] = ["trunkline", "mcp-simple-aggregator"];

pub(super) struct Programs {
    folder: PathBuf,
    pub(super) version: String,
    pub(super) platform: Platform,
}

impl Programs {
    /// Static ones, built in release.
    pub(super) fn build(platform: Platform) -> Result<Self, String> {
        Self::find(&musl::build(platform, "release")?)
    }

    /// Programs that are there, for whatever platform; all of one version.
    pub(super) fn find(folder: &Path) -> Result<Self, String> {
        let found = folder.canonicalize();
        let folder = found
            .map_err(|error| format!("no folder with programs: {}: {error}", folder.display()))?;
        let first = ["", ".exe"].map(|end| folder.join(format!("{}{end}", NAMES[0])));
        let first = first.into_iter().find(|path| path.exists());
        let first = first.ok_or_else(|| format!("no programs in {}", folder.display()))?;
        let platform = Platform::of_program(&file::read(&first)?)
            .ok_or_else(|| format!("{}: for what platform?", first.display()))?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let programs = Self { folder, version, platform };
        // Of what cannot be run here the sources say the version.
        if let Some(said) = programs.said_version()? {
            return Ok(Self { version: said, ..programs });
        }
        Ok(programs)
    }

    /// What the programs say themselves, if they run here.
    fn said_version(&self) -> Result<Option<String>, String> {
        let mut said: Option<String> = None;
        for name in NAMES {
            let Some(mut program) = self.command(name) else { return Ok(None) };
            let words = output(program.arg("--version"))?;
            let version = words.trim().strip_prefix(name).map(|rest| rest.trim().to_owned());
            let version = version.ok_or_else(|| format!("{name} --version says {words:?}"))?;
            match &said {
                Some(other) if *other != version => {
                    return Err(format!("the programs are of {other} and of {version}"));
                }
                _ => said = Some(version),
            }
        }
        Ok(said)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{}", self.platform.ending()))
    }

    /// A command that runs it, if this machine can, be it through an emulator.
    pub(super) fn command(&self, name: &str) -> Option<Command> {
        started(self.platform, &self.path(name))
    }

    /// Puts them into a folder: one file, and a link to it that makes it the drop-in.
    pub(super) fn copy_to(&self, folder: &Path) -> Result<(), String> {
        let [program, drop_in] = NAMES;
        self.copy_one(program, folder)?;
        match self.platform.system {
            // Links are for administrators there.
            System::Windows => self.copy_one(drop_in, folder),
            System::Linux | System::Mac => file::link(program, &folder.join(drop_in)),
        }
    }

    /// Puts `trunkline` into a folder, alone.
    pub(super) fn copy_program_to(&self, folder: &Path) -> Result<(), String> {
        self.copy_one(NAMES[0], folder)
    }

    fn copy_one(&self, name: &str, folder: &Path) -> Result<(), String> {
        let to = folder.join(format!("{name}{}", self.platform.ending()));
        file::copy(&self.path(name), &to, file::PROGRAM)?;
        strip(&to);
        Ok(())
    }

    /// What `trunkline` says to these arguments, if it knows them.
    pub(super) fn asked(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let output = self.command("trunkline")?.args(arguments).output().ok()?;
        output.status.success().then_some(output.stdout)
    }

    /// The newest glibc that one of them asks for (`2.34`); `None`: they need none.
    pub(super) fn glibc(&self) -> Result<Option<String>, String> {
        let mut newest = None;
        for name in NAMES {
            newest = newest.max(newest_glibc(&file::read(&self.path(name))?));
        }
        Ok(newest.map(|(major, minor)| format!("{major}.{minor}")))
    }

    /// Which libraries of the machine they are linked with.
    pub(super) fn links(&self) -> String {
        let platform = self.platform;
        match output(Command::new("ldd").arg(self.path("trunkline"))) {
            Ok(said) if said.contains("=>") => {
                format!("{platform} needs of the machine:\n{}", said.trim_end())
            }
            _ => format!("{platform} needs no library of the machine"),
        }
    }
}

/// A program of this platform, as it is started here; `None`: it is not.
pub(super) fn started(platform: Platform, program: &Path) -> Option<Command> {
    if platform.is_here() {
        return Some(Command::new(program));
    }
    let mut command = Command::new(platform.emulator()?);
    command.arg(program);
    Some(command)
}

/// Symbols are for who builds it. Without the tool the package is larger, that is all.
fn strip(program: &Path) {
    drop(Command::new("strip").arg(program).output());
}

/// The versions of symbols stand in the file as `GLIBC_2.34`.
fn newest_glibc(program: &[u8]) -> Option<(u32, u32)> {
    const MARK: &[u8] = b"GLIBC_";
    let starts = program.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    let versions = starts.filter_map(|(at, _)| {
        let rest = program.get(at + MARK.len()..)?;
        let text = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
        let text: String = text.map(|byte| char::from(*byte)).collect();
        let (major, minor) = text.split_once('.')?;
        let minor = minor.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max()
}

/// The standard output of a command that succeeds.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("cannot run {shown}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown} failed ({})\n{said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_is_found_by_number() {
        let program = b"..GLIBC_2.9\0GLIBC_2.34\0xGLIBC_2.3.4\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(program), Some((2, 34)));
        assert_eq!(newest_glibc(b"nothing"), None);
    }
}
