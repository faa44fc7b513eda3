//! `install.sh`, as somebody types it: from a server on the loopback into an empty home, without root; and with
//! downloads that are wrong, after which nothing may be there.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{holds, made};
use crate::dist::programs::{NAMES, output};
use crate::dist::{Dist, file, sbom, tarball};
use crate::packages;

/// Who owns nothing.
const NOBODY: &str = "65534";

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    let programs = dist.here()?;
    let script = file::text(&made(dist, "install.sh")?)?;
    let (archive, version) = (tarball::name(programs), &programs.version);
    let good = served(dist.out.clone())?;
    let scratch = Scratch::new()?;
    let home = scratch.0.join("home");
    let said = installed(&script, &home, &good, &[])?;
    let bin = home.join(".local/bin");
    let steps = ["downloading", "its checksum is right", "export PATH=", "to remove it"];
    holds(&said, &[&[version.as_str()][..], &steps].concat())?;
    for name in NAMES {
        let said = output(Command::new(bin.join(name)).arg("--version"))?;
        holds(&said, &[name, version])?;
    }
    // A second time over the first, into a folder that is said.
    installed(&script, &home, &good, &["--to", &bin.display().to_string()])?;

    let bad = place.join("bad");
    file::copy(&dist.out.join(sbom::SUMS), &bad.join(sbom::SUMS), file::DATA)?;
    let place = &scratch.0;
    refused(&script, place, &served(bad.clone())?, "cannot be downloaded")?;
    file::write(&bad.join(&archive), "not what it was", file::DATA)?;
    refused(&script, place, &served(bad.clone())?, "Nothing was installed")?;
    file::write(&bad.join(sbom::SUMS), "", file::DATA)?;
    refused(&script, place, &served(bad)?, "has no line for")?;
    let other = script.replace(&programs.platform.to_string(), "linux-vax");
    refused(&other, place, &good, "there is no program for")?;
    Ok("installed from a server by nobody in particular, twice; four wrong downloads refused"
        .to_owned())
}

/// A folder that everybody can reach, as those on the way to ours need not be.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, String> {
        let name = format!("trunkline-install-sh-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        file::emptied(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn installed(script: &str, home: &Path, url: &str, more: &[&str]) -> Result<String, String> {
    let done = run(script, home, url, more)?;
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    if done.status.success() { Ok(said) } else { Err(format!("install.sh failed:\n{said}")) }
}

/// It says why, and leaves nothing.
fn refused(script: &str, place: &Path, url: &str, why: &str) -> Result<(), String> {
    let home = place.join("refused");
    file::emptied(&home)?;
    let done = run(script, &home, url, &[])?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() || home.join(".local").exists() {
        return Err(format!("install.sh installed what it should refuse ({why}):\n{said}"));
    }
    holds(&said, &["error: ", why])
}

/// Through a pipe, as `curl … | sh` does, in a home of one who may write nowhere else.
fn run(script: &str, home: &Path, url: &str, more: &[&str]) -> Result<Output, String> {
    let failed = |error: std::io::Error| format!("sh: {error}");
    std::fs::create_dir_all(home).map_err(failed)?;
    let path = home.with_extension("sh");
    file::write(&path, script, file::PROGRAM)?;
    let mut command = if packages::our_user() == Some(0) {
        output(Command::new("chown").args(["-R", NOBODY]).arg(home))?;
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    command.args(["-s", "--", "--url", url]).args(more);
    command.env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir("/").stdin(std::fs::File::open(&path).map_err(failed)?);
    command.output().map_err(failed)
}

/// A server of the files of a folder, as long as this program runs. Its address.
fn served(folder: PathBuf) -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            drop(answer(&client, &folder));
        }
    });
    Ok(format!("http://{address}"))
}

fn answer(mut client: &TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(client);
    let (mut asked, mut line) = (String::new(), String::new());
    lines.read_line(&mut asked)?;
    while lines.read_line(&mut line)? > 2 {
        line.clear();
    }
    let name = asked.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (status, body) = match std::fs::read(folder.join(name)) {
        Ok(body) if !name.contains('/') => ("200 OK", body),
        _ => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    client.write_all(head.as_bytes())?;
    client.write_all(&body)
}
