//! What to start, and the bytes in which it travels to the keeper.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::io::Errno;

use crate::error::LaunchError;
use crate::limits;
use crate::message::LaunchStep;
use crate::sandbox::Sandbox;

/// A command to be started.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// A path, or a name to be searched in the `PATH` of `env`.
    pub command: OsString,
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Trunkline's own working directory when absent. A relative `command` is relative to it.
    pub cwd: Option<PathBuf>,
    /// `None`: it may do what Trunkline itself may.
    pub sandbox: Option<Sandbox>,
    /// Arguments with which the same command is run when the server is over, also if Trunkline was killed: they end
    /// what is no process of its tree. Empty: nothing is run.
    pub afterwards: Vec<OsString>,
}

/// Arguments and environment may hold secrets and are left out.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("command", &self.command)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

impl Launch {
    /// Names what the keeper saw when a step of this launch failed.
    pub(crate) fn failed_at(&self, step: LaunchStep, errno: i32) -> LaunchError {
        let command = self.command.clone();
        let cwd = self.cwd.clone().unwrap_or_default();
        let source = io::Error::from_raw_os_error(errno);
        match (step, Errno::from_raw_os_error(errno)) {
            (LaunchStep::Wall, Errno::NOTSUP) => LaunchError::SandboxUnavailable { command },
            (LaunchStep::Wall, _) => LaunchError::Sandbox { command, source },
            (LaunchStep::EnterDirectory, Errno::NOENT) => LaunchError::CwdMissing { cwd },
            (LaunchStep::EnterDirectory, _) => LaunchError::CwdRefused { cwd, source },
            (LaunchStep::FindCommand, Errno::NOENT | Errno::NOTDIR) => {
                LaunchError::CommandNotFound { command }
            }
            (LaunchStep::FindCommand | LaunchStep::Execute, Errno::ACCESS | Errno::PERM) => {
                LaunchError::NotExecutable { command }
            }
            (LaunchStep::Execute, Errno::NOENT) => LaunchError::InterpreterMissing { command },
            (LaunchStep::Execute, Errno::NOEXEC) => LaunchError::BadFormat { command },
            (LaunchStep::Execute, Errno::TOOBIG) => LaunchError::TooLarge,
            (
                LaunchStep::Watch
                | LaunchStep::Receive
                | LaunchStep::FindCommand
                | LaunchStep::Execute,
                _,
            ) => LaunchError::System { command, source },
        }
    }

    /// The launch as one parcel: its length, the numbers of arguments, of words about its sandbox and of those
    /// for afterwards, and each string after its own length. No string in it can contain NUL, as the kernel's interface could not pass it on.
    pub(crate) fn pack(&self) -> Result<Vec<u8>, LaunchError> {
        let mut parcel = Parcel { bytes: vec![0; LENGTH_BYTES] };
        let walls = self.sandbox.as_ref().map(Sandbox::words).unwrap_or_default();
        parcel.number(self.args.len())?;
        parcel.number(walls.len())?;
        parcel.number(self.afterwards.len())?;
        parcel.string(&self.command)?;
        parcel.string(self.cwd.as_deref().map_or(OsStr::new(""), |cwd| cwd.as_os_str()))?;
        for arg in self.args.iter().chain(&walls).chain(&self.afterwards) {
            parcel.string(arg)?;
        }
        for (name, value) in &self.env {
            parcel.string(name)?;
            parcel.string(value)?;
        }
        parcel.seal()
    }

    /// Reads the body of a parcel: what follows its length.
    pub(crate) fn unpack(mut body: &[u8]) -> Option<Launch> {
        let (args, walls) = (number(&mut body)?, number(&mut body)?);
        let afterwards = number(&mut body)?;
        let command = string(&mut body)?;
        let cwd = Some(string(&mut body)?).filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
        let mut launch = Launch { command, cwd, ..Launch::default() };
        for _ in 0..args {
            launch.args.push(string(&mut body)?);
        }
        if walls > 0 {
            let words: Option<Vec<OsString>> = (0..walls).map(|_| string(&mut body)).collect();
            launch.sandbox = Some(Sandbox::of_words(&words?)?);
        }
        for _ in 0..afterwards {
            launch.afterwards.push(string(&mut body)?);
        }
        while !body.is_empty() {
            launch.env.push((string(&mut body)?, string(&mut body)?));
        }
        Some(launch)
    }
}

pub(crate) const LENGTH_BYTES: usize = 4;

struct Parcel {
    bytes: Vec<u8>,
}

impl Parcel {
    fn number(&mut self, number: usize) -> Result<(), LaunchError> {
        let number = u32::try_from(number).map_err(|_| LaunchError::TooLarge)?;
        self.bytes.extend_from_slice(&number.to_le_bytes());
        Ok(())
    }

    fn string(&mut self, string: &OsStr) -> Result<(), LaunchError> {
        if string.as_bytes().contains(&0) {
            return Err(LaunchError::NulByte);
        }
        self.number(string.len())?;
        self.bytes.extend_from_slice(string.as_bytes());
        Ok(())
    }

    fn seal(mut self) -> Result<Vec<u8>, LaunchError> {
        if self.bytes.len() > limits::PARCEL_BYTES {
            return Err(LaunchError::TooLarge);
        }
        let body = u32::try_from(self.bytes.len() - LENGTH_BYTES);
        let body = body.map_err(|_| LaunchError::TooLarge)?.to_le_bytes();
        if let Some(length) = self.bytes.first_chunk_mut() {
            *length = body;
        }
        Ok(self.bytes)
    }
}

fn number(body: &mut &[u8]) -> Option<usize> {
    let (number, rest) = body.split_first_chunk()?;
    *body = rest;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

fn string(body: &mut &[u8]) -> Option<OsString> {
    let length = number(body)?;
    let (string, rest) = body.split_at_checked(length)?;
    *body = rest;
    Some(OsString::from_vec(string.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;

    use proptest::collection::vec;
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

    use super::{LENGTH_BYTES, Launch};
    use crate::error::LaunchError;
    use crate::message::LaunchStep;
    use crate::sandbox::Sandbox;

    fn words() -> impl Strategy<Value = OsString> {
        vec(1..=u8::MAX, 0..20).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn arrives_as_it_was_sent(
            command in words(),
            args in vec(words(), 0..5),
            env in vec((words(), words()), 0..5),
            cwd in words(),
        ) {
            let cwd = (!cwd.is_empty()).then(|| PathBuf::from(cwd));
            let sandbox = args.first().map(|arg| Sandbox {
                never: vec![PathBuf::from(arg)],
                required: true,
                ..Sandbox::default()
            });
            let afterwards = args.clone();
            let launch = Launch { command, args, env, cwd, sandbox, afterwards };
            let parcel = launch.pack().expect("packs");
            prop_assert_eq!(Launch::unpack(&parcel[LENGTH_BYTES..]), Some(launch));
        }

        #[test]
        fn garbage_is_refused_without_panic(body in vec(any::<u8>(), 0..60)) {
            prop_assert!(Launch::unpack(&body).is_none_or(|launch| launch.args.len() < 60));
        }
    }

    #[test]
    fn what_the_kernel_could_not_pass_on_is_refused_here() {
        let nul = Launch { command: "a\0b".into(), ..Launch::default() };
        assert!(matches!(nul.pack(), Err(LaunchError::NulByte)));
        let huge = Launch { args: vec!["x".repeat(9 << 20).into()], ..Launch::default() };
        assert!(matches!(huge.pack(), Err(LaunchError::TooLarge)));
    }

    #[test]
    fn debug_keeps_secrets() {
        let launch = Launch {
            command: "npx".into(),
            args: vec!["--token=hunter2".into()],
            env: vec![("TOKEN".into(), "hunter2".into())],
            ..Launch::default()
        };
        assert!(!format!("{launch:?}").contains("hunter2"));
    }

    #[test]
    fn the_same_errno_is_explained_by_where_it_happened() {
        let launch =
            Launch { command: "npxx".into(), cwd: Some("/nowhere".into()), ..Launch::default() };
        let cases = [
            (LaunchStep::FindCommand, libc::ENOENT, "`npxx` was not found; is it installed", false),
            (LaunchStep::FindCommand, libc::EACCES, "`npxx` may not be executed", false),
            (LaunchStep::Execute, libc::ENOENT, "the interpreter that it asks for does not", false),
            (LaunchStep::Execute, libc::ENOEXEC, "not a program for this machine", false),
            (LaunchStep::EnterDirectory, libc::ENOENT, "`/nowhere` does not exist", false),
            (LaunchStep::EnterDirectory, libc::EACCES, "`/nowhere` cannot be entered", false),
            (LaunchStep::Execute, libc::E2BIG, "too large together", false),
            (LaunchStep::Wall, libc::ENOTSUP, "this kernel cannot hold", false),
            (LaunchStep::Wall, libc::EMFILE, "the sandbox of `npxx` could not be made", true),
            (LaunchStep::Watch, libc::EAGAIN, "`npxx` could not be started", true),
        ];
        for (step, errno, words, may_retry) in cases {
            let error = launch.failed_at(step, errno);
            assert!(error.to_string().contains(words), "{step:?}: {error}");
            assert_eq!(error.may_retry(), may_retry, "{error}");
        }
    }
}
