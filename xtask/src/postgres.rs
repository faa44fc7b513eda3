//! A throw-away Postgres for the tests of the store: its own cluster in a temporary folder, on a
//! free port of the loopback, with TLS and a random password; gone when its owner is.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{packages, run};

/// What the tests read.
pub const VARIABLE: &str = "TRUNKLINE_TEST_POSTGRES";

/// What they get from Debian and its kin when there is no server.
const PACKAGE: &str = "postgresql";
/// Where those put the server's programs, which are not in the PATH.
const VERSIONS: &str = "/usr/lib/postgresql";
/// A cluster that does not answer by then is broken.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Cluster {
    folder: PathBuf,
    server: Child,
    url: String,
}

/// `cargo xtask postgres COMMAND…`: runs a command that has the cluster's address.
pub fn run(command: &[String]) -> Result<(), String> {
    let [program, arguments @ ..] = command else {
        return Err(format!("usage: cargo xtask postgres COMMAND…, which finds {VARIABLE} set"));
    };
    let cluster = Cluster::start()?;
    let mut child = Command::new(program);
    child.args(arguments).env(VARIABLE, cluster.url());
    run::checked(&mut child, &command.join(" "))
}

impl Cluster {
    pub fn start() -> Result<Self, String> {
        let programs = programs()?;
        let folder =
            std::env::temp_dir().join(format!("trunkline-postgres-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let user = User::find()?;
        let started = start(&programs, &folder, &user);
        if started.is_err() {
            let _ = fs::remove_dir_all(&folder);
        }
        let (server, url) = started?;
        Ok(Self { folder, server, url })
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nothing in it is worth an orderly end, but what it shares with its children is to go.
        let _ = Command::new("kill").args(["-QUIT", &self.server.id().to_string()]).status();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn start(programs: &Path, folder: &Path, user: &User) -> Result<(Child, String), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let password = random().map_err(failed)?;
    let secret = folder.join("password");
    let mut options = File::options();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(&secret).map_err(failed)?;
    std::io::Write::write_all(&mut file, password.as_bytes()).map_err(failed)?;
    user.give(folder).and_then(|()| user.give(&secret)).map_err(failed)?;

    let data = folder.join("data");
    let mut initdb = user.command(&programs.join("initdb"), folder);
    initdb.arg("-D").arg(&data).arg("--pwfile").arg(&secret).stdout(Stdio::null());
    initdb.args([
        "-U",
        "trunkline",
        "-A",
        "scram-sha-256",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
    ]);
    run::checked(&mut initdb, "initdb (a throw-away Postgres)")?;

    let key = folder.join("key.pem");
    fs::copy(certificate().join("local.key.pem"), &key).map_err(failed)?;
    fs::set_permissions(&key, Permissions::from_mode(0o600)).map_err(failed)?;
    user.give(&key).map_err(failed)?;
    let chain = folder.join("chain.pem");
    fs::copy(certificate().join("local.pem"), &chain).map_err(failed)?;

    let port = free_port().map_err(failed)?;
    let mut server = user.command(&programs.join("postgres"), folder);
    server.arg("-D").arg(&data).arg("-k").arg(folder).arg("-p").arg(port.to_string());
    // What is lost with the machine is not missed here.
    for setting in ["listen_addresses=127.0.0.1", "fsync=off", "max_connections=300"] {
        server.args(["-c", setting]);
    }
    server.args(["-c", "ssl=on", "-c", &format!("ssl_key_file={}", key.display())]);
    server.args(["-c", &format!("ssl_cert_file={}", chain.display())]);
    let log = File::create(folder.join("log")).map_err(failed)?;
    server.stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
    run::announce(&format!("postgres on port {port} of the loopback"));
    let mut server = server.spawn().map_err(|error| format!("cannot start postgres: {error}"))?;
    if let Err(message) = wait(programs, port, &mut server) {
        let _ = server.kill();
        let _ = server.wait();
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        return Err(format!("{message}\n{log}"));
    }
    Ok((server, format!("postgres://trunkline:{password}@127.0.0.1:{port}/postgres")))
}

fn wait(programs: &Path, port: u16, server: &mut Child) -> Result<(), String> {
    let late = Instant::now() + PATIENCE;
    while Instant::now() < late {
        if let Ok(Some(status)) = server.try_wait() {
            return Err(format!("postgres has ended ({status})"));
        }
        let mut ask = Command::new(programs.join("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
        if ask.status().is_ok_and(|status| status.success()) {
            return Ok(());
        }
        sleep(Duration::from_millis(50));
    }
    Err("postgres does not answer".to_owned())
}

/// The folder of the server's programs; they are installed if they are missing and we may.
fn programs() -> Result<PathBuf, String> {
    let why = "the tests of the store need Postgres' server programs (initdb, postgres)";
    packages::ensure(why, &[PACKAGE], installed)
}

/// The newest version, or wherever the PATH leads.
fn installed() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .max()
        .map(|version| Path::new(VERSIONS).join(version.to_string()).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = newest.into_iter().chain(std::env::split_paths(&path));
    places
        .into_iter()
        .find(|place| place.join("initdb").exists() && place.join("postgres").exists())
}

/// Who runs the server. Postgres refuses to be root.
enum User {
    Ourselves,
    Other { uid: u32, gid: u32 },
}

impl User {
    fn find() -> Result<Self, String> {
        if packages::our_user() != Some(0) {
            return Ok(Self::Ourselves);
        }
        let users = fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| Self::named(&users, name))
            .ok_or_else(|| "there is no user `postgres` or `nobody` to run Postgres".to_owned())
    }

    fn named(users: &str, name: &str) -> Option<Self> {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        let (uid, gid) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Self::Other { uid, gid })
    }

    fn give(&self, path: &Path) -> std::io::Result<()> {
        match self {
            Self::Ourselves => Ok(()),
            Self::Other { uid, gid } => chown(path, Some(*uid), Some(*gid)),
        }
    }

    /// A program that runs as this user and does not outlive us.
    fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "QUIT"]).current_dir(folder);
        if let Self::Other { uid, gid } = self {
            command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string()]);
            command.arg("--clear-groups");
        }
        command.arg("--").arg(program);
        command
    }
}

/// The one the other tests use: for `localhost`, by an authority of their own.
fn certificate() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/testdata/tls")
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// So that other users of this machine cannot get in.
fn random() -> std::io::Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
