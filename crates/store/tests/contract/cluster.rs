//! A Postgres of one test's own, which can be stopped and started: made with the programs, and run
//! as the user, of the one all tests share.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::place::{Folder, ask, server};

pub(crate) struct Cluster {
    folder: Folder,
    programs: PathBuf,
    user: (u32, u32),
    running: Option<Child>,
}

impl Cluster {
    /// Not started yet.
    pub(crate) async fn new() -> Self {
        let server = server();
        let sql = "SELECT setting FROM pg_config WHERE name = 'BINDIR'";
        let programs = ask(&server, sql).await.unwrap().remove(0);
        let data = ask(&server, "SHOW data_directory").await.unwrap().remove(0);
        let owner = fs::metadata(data).unwrap();
        let folder = Folder::new();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        chown(folder.path(), Some(owner.uid()), Some(owner.gid())).unwrap();
        let user = (owner.uid(), owner.gid());
        let cluster = Self { folder, programs: programs.into(), user, running: None };
        let mut initdb = cluster.command("initdb");
        initdb.args(["-U", "trunkline", "-A", "trust", "-E", "UTF8", "--locale=C"]);
        assert!(initdb.stdout(Stdio::null()).status().unwrap().success());
        cluster
    }

    /// Only through a socket in the folder, which is closed to others.
    pub(crate) fn url(&self) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://trunkline@{folder}/postgres")
    }

    #[expect(clippy::disallowed_methods, reason = "the keeper is for what the product starts")]
    pub(crate) fn start(&mut self) {
        let mut postgres = self.command("postgres");
        postgres.args(["-c", "listen_addresses=", "-k"]).arg(self.folder.path());
        postgres.stdout(Stdio::null()).stderr(Stdio::null());
        self.running = Some(postgres.spawn().unwrap());
    }

    /// `INT` breaks all connections and stops; `QUIT` stops as if it had crashed.
    pub(crate) fn stop(&mut self, signal: &str) {
        let Some(mut running) = self.running.take() else { return };
        let mut kill = Command::new("kill");
        kill.args(["-s", signal, &running.id().to_string()]);
        assert!(kill.status().unwrap().success());
        running.wait().unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "QUIT"]).current_dir(self.folder.path());
        let (uid, gid) = self.user;
        // Nobody but root can become somebody else, or has to.
        if fs::metadata("/proc/self").unwrap().uid() != uid {
            command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string()]);
            command.arg("--clear-groups");
        }
        command.arg("--").arg(self.programs.join(program));
        command.arg("-D").arg(self.folder.path().join("data"));
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop("QUIT");
    }
}
