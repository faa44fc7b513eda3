//! Decides what a walled-in server may do: its profile, what its entry names, and what is never given.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trunkline_catalog::config::{NetRules, SandboxProfile, SandboxRules, ServerSpec, Transport};
use trunkline_keeper::{Access, AllowedPath, Launch, Network, Sandbox, find_program};

use super::broad::given;
use super::container::Contained;
use super::host_proxy::AllowedHosts;
use super::launch::Inherited;
use super::named_paths::{install_root, is_broad, named_folders, named_paths};
use super::planted::without_planted_links;
use super::refused::{reached_limit, refused_file};
use super::sandbox_policy::SandboxPolicy;
use super::standard::{
    CACHES, DEVICES, HOME_SECRETS, LAUNCHER_SETTINGS, LAUNCHERS, LISTED, RUNTIMES, STRICT_SETTINGS,
    SYSTEM, SYSTEM_SECRETS,
};

/// The walls of one server, for those who explain them.
#[derive(Clone, Debug)]
pub struct SandboxReport {
    pub profile: SandboxProfile,
    pub sandbox: Sandbox,
    /// What its entry asks for and does not get, with the remedy.
    pub notes: Vec<String>,
    /// The command line of the engine, if it runs in a container. Then `sandbox` says nothing.
    pub container: Option<Vec<String>>,
    pub(super) hosts: Option<AllowedHosts>,
}

impl SandboxPolicy {
    /// Walls a launch in, if the entry or the policy wants it. `named`: the variables of its entry.
    fn wall_in(
        &self,
        mut launch: Launch,
        rules: Option<&SandboxRules>,
        id: &str,
        named: &[&str],
    ) -> (Launch, Option<Arc<SandboxReport>>) {
        let rules = &self.rules(rules);
        let profile = rules.profile;
        if profile == SandboxProfile::Off {
            return (launch, None);
        }
        if let Some(container) = &rules.container {
            let contained = Contained { rules, container, id, named, never: &self.never };
            let launch = contained.launch(launch);
            let report = SandboxReport::of_container(profile, &launch, contained.notes());
            return (launch, Some(Arc::new(report)));
        }
        keep_variables(&mut launch, rules, named);
        let plan = Plan { policy: self, rules, launch: &launch, named };
        let (sandbox, notes) = plan.sandbox(id);
        if !sandbox.own.is_empty() {
            let is_named = |variable: &str| named.contains(&variable);
            let caches = CACHES.iter().filter(|(variable, _)| !is_named(variable));
            let own = sandbox.own.first().cloned().unwrap_or_default();
            launch
                .env
                .extend(caches.map(|(name, folder)| ((*name).into(), own.join(folder).into())));
        }
        launch.sandbox = Some(sandbox.clone());
        let hosts = match rules.net() {
            _ if sandbox.watched.is_some() => Some(AllowedHosts::Every),
            NetRules::Hosts(hosts) => Some(AllowedHosts::Only(hosts.clone())),
            NetRules::Nothing | NetRules::Everything => None,
        };
        (launch, Some(Arc::new(SandboxReport { profile, sandbox, notes, container: None, hosts })))
    }

    /// What holds for a server whose entry says this.
    fn rules(&self, entry: Option<&SandboxRules>) -> SandboxRules {
        match &self.watch {
            // A watched server is like one under `standard`, so that it finds its caches where it will.
            Some(_) => SandboxRules { container: None, ..SandboxProfile::Standard.rules() },
            None => entry.cloned().unwrap_or_else(|| self.default.rules()),
        }
    }
}

impl Inherited {
    /// The walls a server would be started behind; `None`: none, or it is no command.
    pub fn sandbox_of(&self, server: &ServerSpec) -> Option<Arc<SandboxReport>> {
        let Transport::Stdio { command, args, env, cwd } = &server.transport else { return None };
        let launch = self.launch(command, args, env, cwd.as_deref());
        self.wall_in(launch, server.sandbox.as_ref(), &server.id, env).1
    }

    /// The launch, walled in if its entry or the policy wants it.
    pub(in crate::upstream) fn wall_in(
        &self,
        launch: Launch,
        rules: Option<&SandboxRules>,
        id: &str,
        env: &[(String, String)],
    ) -> (Launch, Option<Arc<SandboxReport>>) {
        let named: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
        self.sandbox.wall_in(launch, rules, id, &named)
    }
}

/// Takes the variables out that the server is not to have.
fn keep_variables(launch: &mut Launch, rules: &SandboxRules, named: &[&str]) {
    const ALWAYS: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];
    let strict = (rules.profile == SandboxProfile::Strict).then(Vec::new);
    let Some(passed) = rules.env.clone().or(strict) else { return };
    let is_kept = |name: &OsStr| {
        let is = |other: &str| name == other;
        ALWAYS.iter().any(|it| is(it))
            || named.iter().any(|it| is(it))
            || passed.iter().any(|it| is(it))
    };
    launch.env.retain(|(name, _)| is_kept(name));
}

/// What the walls of one launch are made of.
struct Plan<'p> {
    policy: &'p SandboxPolicy,
    rules: &'p SandboxRules,
    launch: &'p Launch,
    named: &'p [&'p str],
}

impl Plan<'_> {
    fn sandbox(&self, id: &str) -> (Sandbox, Vec<String>) {
        let is_strict = self.rules.profile == SandboxProfile::Strict;
        let home = self.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.as_deref();
        let mut allowed = self.system(is_strict);
        let in_home = |names: &[&str]| -> Vec<PathBuf> {
            home.map(|home| names.iter().map(|it| home.join(it)).collect()).unwrap_or_default()
        };
        allowed.extend(in_home(RUNTIMES).into_iter().map(|it| path(it, Access::Read, false)));
        let is_launcher = self.is_launcher();
        if is_launcher {
            let settings = in_home(LAUNCHER_SETTINGS);
            allowed.extend(settings.into_iter().map(|it| path(it, Access::Read, true)));
        }
        allowed.extend(self.programs(home));
        let mut notes = Vec::new();
        allowed.extend(self.entry(home, is_strict, &mut notes));
        for (paths, access) in
            [(&self.rules.read, Access::Read), (&self.rules.write, Access::Write)]
        {
            allowed.extend(paths.iter().map(|it| path(it, access, true)));
        }
        without_planted_links(
            &mut allowed,
            named_folders(self.words(), self.launch.cwd.as_deref(), home),
            &mut notes,
        );
        let own = self.policy.own.as_ref().filter(|_| is_launcher && !is_strict);
        let hidden = SYSTEM_SECRETS.iter().map(PathBuf::from);
        let watched = self.policy.watch.clone();
        let network = match self.rules.net() {
            NetRules::Everything => Network::Open,
            NetRules::Nothing => Network::None,
            // The port is known when the proxy listens.
            NetRules::Hosts(_) => Network::Proxy(0),
        };
        let sandbox = Sandbox {
            allowed,
            hidden: hidden.chain(in_home(HOME_SECRETS)).collect(),
            never: self.policy.never.clone(),
            own: own.map(|own| own.join(folder_name(id))).into_iter().collect(),
            network,
            unix_sockets: self.rules.unix_sockets || watched.is_some(),
            private_home: is_strict,
            required: is_strict,
            private_ipc: true,
            reads_itself: is_launcher && watched.is_none(),
            watched,
        };
        (sandbox, notes)
    }

    fn system(&self, is_strict: bool) -> Vec<AllowedPath> {
        let is_given = |it: &&&str| !(is_strict && **it == "/etc");
        let read = SYSTEM.iter().filter(is_given);
        let strict: &[&str] = if is_strict { STRICT_SETTINGS } else { &[] };
        let read = read.chain(strict).map(|it| path(it, Access::Read, false));
        let devices = DEVICES.iter().map(|it| path(it, Access::Write, false));
        let listed = LISTED.iter().map(|it| path(it, Access::List, false));
        read.chain(devices).chain(listed).collect()
    }

    /// The program as it was found and what it is a link to, and where others are found.
    fn programs(&self, home: Option<&Path>) -> Vec<AllowedPath> {
        let found =
            find_program(self.launch.cwd.as_deref(), &self.launch.command, &self.launch.env);
        // A script's own interpreter may be installed elsewhere.
        let interpreter = found.as_deref().and_then(interpreter);
        let found = found.into_iter().chain(interpreter);
        let programs = found.flat_map(|it| [it.canonicalize().ok(), Some(it)]).flatten();
        let programs = programs.map(|it| install_root(&it, home));
        let search = self.variable("PATH").map(std::env::split_paths).into_iter().flatten();
        let search =
            search.filter(|it| it.is_absolute()).map(|it| install_root(&it.join("x"), home));
        programs.chain(search).map(|it| path(it, Access::Read, false)).collect()
    }

    /// Its directory, and the files that its entry names.
    fn entry(
        &self,
        home: Option<&Path>,
        is_strict: bool,
        notes: &mut Vec<String>,
    ) -> Vec<AllowedPath> {
        let access = |access| if is_strict { Access::Read } else { access };
        let cwd = self.launch.cwd.as_deref();
        let named = named_paths(self.words(), cwd, home);
        let named = named.into_iter().map(|it| (it.path, it.access));
        let cwd = cwd.map(|it| (it.to_path_buf(), Access::Write));
        let all = cwd.into_iter().chain(named);
        all.map(|(found, wanted)| {
            let given = given(&found, access(wanted), home, &self.policy.never);
            notes.extend(given.note.filter(|note| !notes.contains(note)));
            path(found, given.access, true)
        })
        .collect()
    }

    /// What may name a file: arguments, and variables of its entry.
    fn words(&self) -> impl Iterator<Item = &str> {
        let args = self.launch.args.iter().filter_map(|arg| arg.to_str());
        let of_entry = |name: &OsString| self.named.iter().any(|it| name == it);
        let env = self.launch.env.iter().filter(move |(name, _)| of_entry(name) && name != "PATH");
        args.chain(env.filter_map(|(_, value)| value.to_str()).filter(|it| it.starts_with('/')))
    }

    fn is_launcher(&self) -> bool {
        let name = Path::new(&self.launch.command).file_name();
        LAUNCHERS.iter().any(|launcher| name == Some(OsStr::new(launcher)))
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.launch.env.iter().rfind(|(held, _)| held == name).map(|(_, value)| value.as_os_str())
    }
}

/// What the first line of a script names.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    // The kernel does not look further, either.
    File::open(script).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let name = str::from_utf8(line).ok()?.split_ascii_whitespace().next()?;
    Some(PathBuf::from(name)).filter(|path| path.is_absolute())
}

fn path(path: impl Into<PathBuf>, access: Access, named: bool) -> AllowedPath {
    AllowedPath { path: path.into(), access, named }
}

/// An id as a name in the file system.
fn folder_name(id: &str) -> String {
    let escaped = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => letter.to_string(),
        other => format!("%{:x}", u32::from(other)),
    };
    id.chars().map(escaped).collect()
}

impl SandboxReport {
    /// What a line of its stderr says about a file that was refused to it.
    pub(super) fn explain(&self, line: &str) -> Option<String> {
        if self.container.is_some() || self.sandbox.watched.is_some() {
            return None;
        }
        let profile = self.profile.word();
        if let Some(reached) = reached_limit(line) {
            return Some(format!("sandbox {profile} allows a process {reached}, and no more"));
        }
        let refused = refused_file(line)?;
        let file = Path::new(refused.path);
        if file.starts_with("/proc") {
            let name = refused.path;
            return Some(format!(
                "sandbox {profile} refused `{name}`: of /proc a process reads what is about itself"
            ));
        }
        // What a link leads to is what was refused.
        let real = file.canonicalize().ok();
        let name = real.as_deref().and_then(Path::to_str).unwrap_or(refused.path);
        let file = Path::new(name);
        if self.sandbox.never.iter().any(|it| file.starts_with(it)) {
            return Some(format!("sandbox {profile} refused `{name}`, which is Trunkline's own"));
        }
        let is_within = |it: &&AllowedPath| file.starts_with(&it.path);
        let best = self.sandbox.allowed.iter().filter(is_within).map(|it| it.access);
        let best = best.fold(
            None,
            |best, access| if best == Some(Access::Write) { best } else { Some(access) },
        );
        if best == Some(Access::Write) {
            // Else it is not our doing, most likely: the file's own rights.
            let is_beside =
                |it: &&PathBuf| file.parent().is_some_and(|folder| it.starts_with(folder));
            let ours = self.sandbox.never.iter().find(is_beside)?.display();
            return Some(format!(
                "sandbox {profile} refused `{name}`: nothing new can be made in a directory that holds \
                 Trunkline's own `{ours}`; keep them in different directories"
            ));
        }
        // Reading what is not there fails in another way: it was to be made.
        let is_new = !file.exists();
        let is_change = refused.is_change || best == Some(Access::Read) || is_new;
        if !is_change {
            return Some(format!(
                "sandbox {profile} refused `{name}`; allow it with \"sandbox\": {{\"read\": [\"{name}\"]}}, or \
                 \"write\" if it changes it"
            ));
        }
        Some(match (is_new, file.parent().filter(|it| it.is_dir() && !is_broad(it, self.home()))) {
            // What is not there cannot be allowed: its directory can.
            (true, Some(folder)) => format!(
                "sandbox {profile} refused to write to `{name}`; allow it with \"sandbox\": {{\"write\": [\"{}\"]}}",
                folder.display()
            ),
            (true, None) => format!(
                "sandbox {profile} refused to write to `{name}`; make it a directory of its own and allow it with \
                 \"sandbox\": {{\"write\": [\"{name}\"]}}"
            ),
            (false, _) => format!(
                "sandbox {profile} refused to write to `{name}`; allow it with \"sandbox\": {{\"write\": [\"{name}\"]}}"
            ),
        })
    }

    /// Writes down that a watched server has reached a host.
    pub(super) fn note_host(&self, place: &str) {
        self.write_down(&format!("h {place}\n"));
    }

    fn write_down(&self, line: &str) {
        let Some(path) = &self.sandbox.watched else { return };
        let file = File::options().append(true).open(path);
        // A record that is not complete: the server goes on.
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// The launch with the proxy's port where one is to be used.
    pub(in crate::upstream) fn through_proxy(&self, launch: &mut Launch, port: u16) {
        const NAMES: [&str; 6] =
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
        launch.env.retain(|(name, _)| !name.eq_ignore_ascii_case("NO_PROXY"));
        self.write_down(&format!("p {port}\n"));
        let address = format!("http://127.0.0.1:{port}");
        // Of two values for one name the last counts.
        launch.env.extend(NAMES.map(|name| (name.into(), address.clone().into())));
        launch.env.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
        if let Some(sandbox) = &mut launch.sandbox
            && sandbox.watched.is_none()
        {
            sandbox.network = Network::Proxy(port);
        }
    }

    /// The hosts it may reach, where it may not reach all.
    pub fn hosts(&self) -> Vec<String> {
        match &self.hosts {
            Some(AllowedHosts::Only(rules)) => rules.iter().map(ToString::to_string).collect(),
            Some(AllowedHosts::Every) | None => Vec::new(),
        }
    }

    /// Whether it reaches hosts through a proxy.
    pub(in crate::upstream) fn wants_proxy(&self) -> bool {
        self.hosts.is_some()
    }

    /// The home directory, as far as its secrets tell.
    fn home(&self) -> Option<&Path> {
        let secret = self.sandbox.hidden.iter().find(|it| it.ends_with(".ssh"));
        secret.and_then(|secret| secret.parent())
    }

    /// A connection that the proxy refused, with the remedy.
    pub(super) fn explain_host(&self, place: &str, why: Option<&str>) -> String {
        let profile = self.profile.word();
        match why {
            Some(why) => format!("sandbox {profile} refused a connection to {place}: {why}"),
            None => format!(
                "sandbox {profile} refused a connection to {place}; allow it with \"sandbox\": {{\"net\": \
                 {{\"hosts\": [\"{place}\"]}}}}"
            ),
        }
    }

    fn of_container(profile: SandboxProfile, launch: &Launch, notes: Vec<String>) -> SandboxReport {
        let words = [&launch.command].into_iter().chain(&launch.args);
        let line = words.map(|it| it.to_string_lossy().into_owned()).collect();
        let (sandbox, hosts) = (Sandbox::default(), None);
        SandboxReport { profile, sandbox, notes, container: Some(line), hosts }
    }

    /// What to say of a failure whose reason is not in what the server wrote.
    pub(super) fn advice(&self) -> String {
        match &self.container {
            Some(line) => format!("it ran in a container ({})", line.join(" ")),
            None => {
                format!("it ran in a sandbox ({self}); if it needs more, name it in \"sandbox\"")
            }
        }
    }
}

/// What is allowed, in one line.
impl fmt::Display for SandboxReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |access| {
            let it = self.sandbox.allowed.iter().filter(move |it| it.access == access && it.named);
            it.map(|it| it.path.display().to_string()).collect::<Vec<_>>()
        };
        write!(f, "{}: reads the system and its program", self.profile.word())?;
        for (access, verb) in [(Access::Read, "reads"), (Access::Write, "writes")] {
            let paths = named(access);
            if !paths.is_empty() {
                write!(f, ", {verb} {}", paths.join(", "))?;
            }
        }
        match self.sandbox.network {
            Network::Open => write!(f, ", network"),
            Network::Proxy(_) => write!(f, ", network by its hosts"),
            Network::None => write!(f, ", no network"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(args: &[&str]) -> Launch {
        let env =
            [("PATH", "/usr/bin"), ("HOME", "/home/nobody-here"), ("LC_ALL", "C"), ("KEY", "k")];
        Launch {
            command: "sh".into(),
            args: args.iter().map(OsString::from).collect(),
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ..Launch::default()
        }
    }

    fn walled(rules: &SandboxRules, args: &[&str]) -> (Launch, SandboxReport) {
        let policy =
            SandboxPolicy { never: vec!["/var/lib/us".into()], ..SandboxPolicy::default() };
        let (launch, report) = policy.wall_in(launch(args), Some(rules), "a:b", &["KEY"]);
        (launch, report.unwrap().as_ref().clone())
    }

    #[test]
    fn off_is_off_and_the_entry_goes_before_the_default() {
        let strict = SandboxPolicy { default: SandboxProfile::Strict, ..SandboxPolicy::default() };
        let off = SandboxProfile::Off.rules();
        assert!(strict.wall_in(launch(&[]), Some(&off), "a", &[]).1.is_none());
        assert!(SandboxPolicy::default().wall_in(launch(&[]), None, "a", &[]).1.is_none());
        let (_, report) = strict.wall_in(launch(&[]), None, "a", &[]);
        assert_eq!(report.unwrap().profile, SandboxProfile::Strict);
    }

    #[test]
    fn strict_passes_on_what_the_entry_names() {
        let names = |launch: &Launch| -> Vec<String> {
            launch.env.iter().map(|(name, _)| name.to_str().unwrap().to_owned()).collect()
        };
        let (standard, _) = walled(&SandboxProfile::Standard.rules(), &[]);
        assert_eq!(names(&standard), ["PATH", "HOME", "LC_ALL", "KEY"]);
        let (strict, report) = walled(&SandboxProfile::Strict.rules(), &[]);
        assert_eq!(names(&strict), ["PATH", "HOME", "KEY"]);
        assert_eq!(report.sandbox.network, Network::None);
        assert!(report.sandbox.required && report.sandbox.private_home);
        assert!(!report.sandbox.allowed.iter().any(|it| it.path == Path::new("/etc")));
        let more =
            SandboxRules { env: Some(vec!["LC_ALL".to_owned()]), ..SandboxProfile::Strict.rules() };
        assert_eq!(names(&walled(&more, &[]).0), ["PATH", "HOME", "LC_ALL", "KEY"]);
    }

    #[test]
    fn what_was_refused_is_explained_with_its_remedy() {
        let rules = SandboxRules {
            read: vec!["/srv/r".to_owned()],
            write: vec!["/srv/w".to_owned()],
            ..SandboxProfile::Standard.rules()
        };
        let (_, report) = walled(&rules, &[]);
        for (line, expected) in [
            (
                "EACCES: permission denied, open '/root/x'",
                // Not there: it was to be made.
                Some(
                    "refused to write to `/root/x`; make it a directory of its own and allow it with \"sandbox\": {\"write\": [\"/root/x\"]}",
                ),
            ),
            (
                "EACCES: permission denied, open '/var/log'",
                Some(
                    "refused `/var/log`; allow it with \"sandbox\": {\"read\": [\"/var/log\"]}, or \"write\" if it",
                ),
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/var/log/new'",
                Some(
                    "refused to write to `/var/log/new`; allow it with \"sandbox\": {\"write\": [\"/var/log\"]}",
                ),
            ),
            ("EACCES: permission denied, mkdir '/root/x'", Some("refused to write to `/root/x`")),
            ("EACCES: permission denied, open '/srv/r/x'", Some("refused to write to `/srv/r/x`")),
            ("EACCES: permission denied, open '/srv/w/x'", None),
            ("EACCES: permission denied, open '/var/lib/us/key'", Some("which is Trunkline's own")),
            ("EACCES: permission denied, open '/srv/w/new'", None),
            ("all is well", None),
        ] {
            let said = report.explain(line);
            assert_eq!(said.is_some(), expected.is_some(), "{line}: {said:?}");
            assert!(
                expected.is_none_or(|words| said.as_ref().unwrap().contains(words)),
                "{said:?}"
            );
        }
        let beside =
            SandboxRules { write: vec!["/var/lib".to_owned()], ..SandboxProfile::Standard.rules() };
        let said = walled(&beside, &[]).1.explain("EACCES: permission denied, open '/var/lib/new'");
        assert!(said.is_some_and(|said| said.contains("`/var/lib/us`; keep them in different")));
        assert_eq!(folder_name("file:a/..b"), "file%3aa%2f%2e%2eb");
    }
}
