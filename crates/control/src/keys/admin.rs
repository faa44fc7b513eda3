//! The admin token: given from outside, or made on the first start and kept in a file of its owner's only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::access::{self, Mac, Pepper, Use};

const FILE: &str = "admin-token";
/// Longer than any token an operator would choose.
const LONGEST: u64 = 4_096;
/// One that is chosen must not be guessed.
const SHORTEST: usize = 16;

#[derive(Debug)]
pub struct AdminToken {
    pub mac: Mac,
    /// Where it is kept; nowhere if it was given.
    pub file: Option<PathBuf>,
    /// Just made: to be printed, this once.
    pub fresh: Option<access::Secret>,
}

#[derive(Debug, thiserror::Error)]
pub enum AdminTokenError {
    #[error(
        "the admin token has to have {SHORTEST} characters at least, all of them visible ASCII"
    )]
    Weak,
    #[error("{path}: others can read the admin token (mode {mode:03o}): `chmod 600` it")]
    Open { path: PathBuf, mode: u32 },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error(transparent)]
    NoRandom(#[from] access::NoRandom),
}

/// `given` counts before the file, which is not even looked at then.
pub fn admin_token(
    data_dir: &Path,
    given: Option<&str>,
    pepper: &Pepper,
) -> Result<AdminToken, AdminTokenError> {
    if let Some(token) = given {
        let mac = checked(token, pepper)?;
        return Ok(AdminToken { mac, file: None, fresh: None });
    }
    let path = data_dir.join(FILE);
    let failed = |error| AdminTokenError::Io { path: path.clone(), error };
    if let Some(token) = read(&path)? {
        let mac = checked(token.trim_ascii(), pepper)?;
        return Ok(AdminToken { mac, file: Some(path), fresh: None });
    }
    let seed = Zeroizing::new(access::random()?);
    let (mac, fresh) = access::make_admin_token(pepper, &seed);
    match write(&path, fresh.expose()) {
        Ok(()) => Ok(AdminToken { mac, file: Some(path), fresh: Some(fresh) }),
        // Another process was quicker: its token is the one.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let token = read(&path)?.ok_or_else(|| failed(error))?;
            let mac = checked(token.trim_ascii(), pepper)?;
            Ok(AdminToken { mac, file: Some(path), fresh: None })
        }
        Err(error) => Err(failed(error)),
    }
}

fn checked(token: &str, pepper: &Pepper) -> Result<Mac, AdminTokenError> {
    if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(AdminTokenError::Weak);
    }
    Ok(pepper.mac(Use::AdminToken, token))
}

fn read(path: &Path) -> Result<Option<Zeroizing<String>>, AdminTokenError> {
    let failed = |error| AdminTokenError::Io { path: path.to_owned(), error };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // Of the file that is open: another one may be put there meanwhile.
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(AdminTokenError::Open { path: path.to_owned(), mode });
    }
    let mut text = Zeroizing::new(String::new());
    file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

/// A file that is there is never replaced, and there is never one with half a token in it.
fn write(path: &Path, token: &str) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = writeln!(file, "{token}")
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&draft, path));
    let removed = fs::remove_file(&draft);
    written.and(removed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
