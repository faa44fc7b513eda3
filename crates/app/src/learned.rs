//! Decides which walls a server needs, by the record of what it used while it was watched.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use trunkline_gateway::{is_broad, package_root};
use trunkline_keeper::{Access, AllowedPath, Sandbox};

/// What a server would have under a profile.
#[derive(Debug)]
pub(crate) struct Base<'b> {
    pub(crate) word: &'static str,
    pub(crate) sandbox: &'b Sandbox,
}

/// The smallest profile, and what to know about it.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) profile: &'static str,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) net: LearnedNet,
    pub(crate) unix_sockets: bool,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum LearnedNet {
    #[default]
    Nothing,
    Hosts(Vec<String>),
    Everything,
}

/// What a record says.
#[derive(Debug, Default)]
struct Uses<'r> {
    read: BTreeSet<&'r Path>,
    write: BTreeSet<&'r Path>,
    sockets: BTreeSet<&'r str>,
    hosts: BTreeSet<&'r str>,
    connects: BTreeSet<&'r str>,
    listens: BTreeSet<&'r str>,
    proxies: BTreeSet<u16>,
}

/// Services that look names up: without them it is done another way.
const LOOK_UP: [&str; 2] = ["nscd", "io.systemd.Resolve"];

impl Learned {
    /// `strict` is chosen where the server uses nothing of its user's home directory, and `standard` else: under
    /// `strict` it has another one.
    pub(crate) fn of(
        record: &str,
        strict: &Base<'_>,
        standard: &Base<'_>,
        home: Option<&Path>,
    ) -> Learned {
        let uses = Uses::read(record);
        let is_at_home = |path: &Path| home.is_some_and(|home| path.starts_with(home));
        let needs_home =
            uses.read.iter().any(|it| is_at_home(it) && !strict.covers(it, Access::Read))
                || uses.write.iter().any(|it| is_at_home(it) && !strict.covers(it, Access::Write));
        // Who loads packages keeps them in a cache that only `standard` has.
        let base = match needs_home || !standard.sandbox.own.is_empty() {
            true => standard,
            false => strict,
        };
        let mut learned = Learned { profile: base.word, ..Learned::default() };
        for path in &uses.write {
            if !base.covers(path, Access::Write) && !is_passing(path) {
                learned.writes(path, base, home);
            }
        }
        for path in &uses.read {
            if !base.covers(path, Access::Read) && !is_passing(path) {
                learned.reads(path, base, home);
            }
        }
        learned.reaches(&uses);
        learned.tidy();
        learned
    }

    fn writes(&mut self, path: &Path, base: &Base<'_>, home: Option<&Path>) {
        if base.is_ours(path) {
            return self.note(format!(
                "it changes `{}`, which is Trunkline's own: never given",
                path.display()
            ));
        }
        let folder = path.parent().unwrap_or(path);
        match (is_broad(folder, home), path.exists()) {
            (false, _) => self.write.push(folder.to_path_buf()),
            // The directory is everybody's: only what it has made there is given.
            (true, true) => self.write.push(path.to_path_buf()),
            (true, false) => self.note(format!(
                "it makes and removes `{}`: not given, since that would be all of `{}`",
                path.display(),
                folder.display()
            )),
        }
    }

    fn reads(&mut self, path: &Path, base: &Base<'_>, home: Option<&Path>) {
        let shown = path.display();
        match () {
            () if base.is_ours(path) => {
                self.note(format!("it reads `{shown}`, which is Trunkline's own: never given"));
            }
            () if base.is_hidden(path) => {
                self.note(format!("it reads `{shown}`, which looks like a secret: think twice"));
                self.read.push(path.to_path_buf());
            }
            () if path.is_dir() && is_broad(path, home) => {
                self.note(format!("it lists `{shown}`: not given, since that would be all in it"));
            }
            () if path.is_dir() => self.read.push(path.to_path_buf()),
            () => {
                let root = package_root(path, home);
                // Nothing of ours or secret comes with it: those are left out wherever they lie.
                self.read.push(if is_broad(&root, home) { path.to_path_buf() } else { root });
            }
        }
    }

    fn reaches(&mut self, uses: &Uses<'_>) {
        let is_direct = |text: &&&str| {
            let address: Option<SocketAddr> = text.parse().ok();
            address.is_some_and(|it| {
                let is_proxy = it.ip().is_loopback() && uses.proxies.contains(&it.port());
                // 0: only asks which way it would go. 53: a name, which the proxy looks up.
                !is_proxy && it.port() != 0 && it.port() != 53
            })
        };
        let direct: Vec<&str> = uses.connects.iter().filter(is_direct).copied().collect();
        let listens: Vec<&str> =
            uses.listens.iter().copied().filter(|it| !it.ends_with(":0")).collect();
        self.net = match (direct.is_empty() && listens.is_empty(), uses.hosts.is_empty()) {
            (false, _) => LearnedNet::Everything,
            (true, false) => {
                LearnedNet::Hosts(uses.hosts.iter().map(ToString::to_string).collect())
            }
            (true, true) => LearnedNet::Nothing,
        };
        if !direct.is_empty() {
            self.note(format!(
                "it connects past the proxy, to {}: so \"net\" is true",
                direct.join(", ")
            ));
        }
        if !listens.is_empty() {
            self.note(format!("it listens on {}: so \"net\" is true", listens.join(", ")));
        }
        let is_look_up = |path: &&&str| LOOK_UP.iter().any(|it| path.contains(it));
        let sockets: Vec<&str> =
            uses.sockets.iter().filter(|it| !is_look_up(it)).copied().collect();
        if !sockets.is_empty() {
            self.unix_sockets = true;
            self.note(format!("it uses {}: sockets lead out of the sandbox", sockets.join(", ")));
        }
    }

    /// Leaves out what lies in something else that is given.
    fn tidy(&mut self) {
        let outermost = |paths: &[PathBuf], others: &[PathBuf]| -> Vec<PathBuf> {
            let is_inside = |path: &PathBuf| {
                let in_same = paths.iter().any(|it| it != path && path.starts_with(it));
                in_same || others.iter().any(|it| path.starts_with(it))
            };
            let kept: BTreeSet<&PathBuf> = paths.iter().filter(|path| !is_inside(path)).collect();
            kept.into_iter().cloned().collect()
        };
        self.write = outermost(&self.write, &[]);
        self.read = outermost(&self.read, &self.write);
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// As a config has it.
    pub(crate) fn json(&self) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
        put("profile", self.profile.into());
        for (name, paths) in [("read", &self.read), ("write", &self.write)] {
            if !paths.is_empty() {
                let paths: Vec<String> = paths.iter().map(|it| it.display().to_string()).collect();
                put(name, json!(paths));
            }
        }
        match &self.net {
            LearnedNet::Nothing => put("net", false.into()),
            LearnedNet::Everything => put("net", true.into()),
            LearnedNet::Hosts(hosts) => put("net", json!({ "hosts": hosts })),
        }
        if self.unix_sockets {
            put("unixSockets", true.into());
        }
        members.into()
    }
}

impl<'r> Uses<'r> {
    fn read(record: &'r str) -> Uses<'r> {
        let mut uses = Uses::default();
        for line in record.lines() {
            let Some((letter, what)) = line.split_once(' ') else { continue };
            match letter {
                "r" => drop(uses.read.insert(Path::new(what))),
                "w" => drop(uses.write.insert(Path::new(what))),
                "u" => drop(uses.sockets.insert(what)),
                "h" => drop(uses.hosts.insert(what)),
                "c" => drop(uses.connects.insert(what)),
                "b" => drop(uses.listens.insert(what)),
                "p" => uses.proxies.extend(what.parse::<u16>().ok()),
                _ => {}
            }
        }
        uses
    }
}

impl Base<'_> {
    fn covers(&self, path: &Path, access: Access) -> bool {
        let is_given = |it: &AllowedPath| {
            let root = it.path.canonicalize().unwrap_or_else(|_| it.path.clone());
            let is_enough = match access {
                Access::Write => it.access == Access::Write,
                Access::Read => it.access != Access::List,
                Access::List => true,
            };
            is_enough && path.starts_with(root)
        };
        let is_own = self.sandbox.own.iter().any(|it| path.starts_with(it));
        is_own
            || (self.sandbox.allowed.iter().any(is_given)
                && !self.is_hidden(path)
                && !self.is_ours(path))
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let is_named = |it: &AllowedPath| it.named && path.starts_with(&it.path);
        let is_hidden = self.sandbox.hidden.iter().any(|it| path.starts_with(it));
        is_hidden && !self.sandbox.allowed.iter().any(is_named)
    }

    fn is_ours(&self, path: &Path) -> bool {
        self.sandbox.never.iter().any(|it| path.starts_with(it))
            && !self.sandbox.own.iter().any(|it| path.starts_with(it))
    }
}

/// What is there for one run only: about processes, of a terminal, in the private directory.
fn is_passing(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let is_process =
        |rest: &str| rest.starts_with(|it: char| it.is_ascii_digit()) || rest.is_empty();
    text.strip_prefix("/proc/").is_some_and(is_process)
        || text == "/proc"
        || text.starts_with("/dev/pts")
        || text.starts_with("/dev/tty")
        || text.starts_with("pipe:")
        || text.contains("/tl-sandbox-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(path: &str, access: Access) -> AllowedPath {
        AllowedPath { path: path.into(), access, named: false }
    }

    fn learned(record: &str, own: Option<&str>) -> Learned {
        let strict = Sandbox {
            allowed: vec![allowed("/usr", Access::Read), allowed("/proc", Access::List)],
            hidden: vec!["/home/nobody-here/.ssh".into()],
            never: vec!["/var/lib/us".into()],
            ..Sandbox::default()
        };
        let standard = Sandbox { own: own.map(Into::into).into_iter().collect(), ..strict.clone() };
        Learned::of(
            record,
            &Base { word: "strict", sandbox: &strict },
            &Base { word: "standard", sandbox: &standard },
            Some(Path::new("/home/nobody-here")),
        )
    }

    #[test]
    fn the_smallest_profile_is_found() {
        let nothing = json!({ "profile": "strict", "net": false });
        for (record, expected) in [
            ("", nothing.clone()),
            (
                "r /usr/lib/x\nr /proc/1/stat\nw /tmp/tl-sandbox-1-2/x\nr /\nr /proc",
                nothing.clone(),
            ),
            ("r /var/lib/us/key\nw /var/lib/us/key", nothing.clone()),
            (
                "r /srv/a/x.txt\nr /srv/a/y.txt\nw /srv/b/new.txt\nr /srv/b/new.txt",
                json!({ "profile": "strict", "net": false, "read": ["/srv/a"], "write": ["/srv/b"] }),
            ),
            (
                "w /home/nobody-here/notes/x",
                json!({ "profile": "standard", "net": false, "write": ["/home/nobody-here/notes"] }),
            ),
            ("w /tmp/fleeting", nothing.clone()),
            (
                "p 9\nc 127.0.0.1:9\nh api.example.com:443\nc 10.0.0.1:53\nc 1.2.3.4:0",
                json!({ "profile": "strict", "net": { "hosts": ["api.example.com:443"] } }),
            ),
            ("h a.b:443\nc 93.184.215.14:443", json!({ "profile": "strict", "net": true })),
            ("b 127.0.0.1:8080", json!({ "profile": "strict", "net": true })),
            ("u /run/nscd/socket", nothing),
            (
                "u /run/docker.sock",
                json!({ "profile": "strict", "net": false, "unixSockets": true }),
            ),
        ] {
            assert_eq!(learned(record, None).json(), expected, "{record}");
        }
        let launcher = learned("w /var/cache/s/npm/x", Some("/var/cache/s"));
        assert_eq!(launcher.json(), json!({ "profile": "standard", "net": false }));
    }

    #[test]
    fn what_is_not_given_is_said() {
        let learned =
            learned("r /var/lib/us/key\nw /tmp/fleeting\nr /home/nobody-here/.ssh/id", None);
        for words in ["Trunkline's own", "all of `/tmp`", "looks like a secret"] {
            assert!(
                learned.notes.iter().any(|it| it.contains(words)),
                "{words}: {:?}",
                learned.notes
            );
        }
    }
}
