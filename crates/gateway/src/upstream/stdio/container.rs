//! Decides how a server is run in a container: the command line of an engine that is there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{getgid, getuid};
use trunkline_catalog::config::{
    ContainerEngine, ContainerMount, ContainerRules, NetRules, SandboxRules,
};
use trunkline_keeper::{Launch, find_program};

/// What is known of the server whose command runs in a container.
pub(super) struct Contained<'c> {
    pub(super) rules: &'c SandboxRules,
    pub(super) container: &'c ContainerRules,
    pub(super) id: &'c str,
    /// The variables of its entry.
    pub(super) named: &'c [&'c str],
    /// Trunkline's own files.
    pub(super) never: &'c [PathBuf],
}

/// By which containers of Trunkline's can be found: `podman ps --filter label=trunkline.server`.
const LABEL: &str = "trunkline.server";

/// What a container may have of processes, as other walled-in servers.
const PROCESSES: &str = "--pids-limit=512";

impl Contained<'_> {
    /// The launch of the engine. What is left of the container when that has ended is removed by name.
    pub(super) fn launch(&self, launch: Launch) -> Launch {
        let engine = self.container.engine.unwrap_or_else(|| found_engine(&launch));
        let name = self.name();
        let mut args = self.options(engine, &name);
        if let Some(cwd) = &launch.cwd {
            args.push(joined("--workdir=", cwd.as_os_str()));
        }
        if !launch.command.is_empty() {
            args.push(joined("--entrypoint=", &launch.command));
        }
        args.push(self.container.image.clone().into());
        args.extend(launch.args);
        let afterwards = ["rm", "--force", &name].map(OsString::from).to_vec();
        Launch { command: engine.word().into(), args, cwd: None, afterwards, ..launch }
    }

    fn options(&self, engine: ContainerEngine, name: &str) -> Vec<OsString> {
        let mut options = vec![
            "run".to_owned(),
            "--rm".to_owned(),
            "--interactive".to_owned(),
            "--init".to_owned(),
            "--read-only".to_owned(),
            "--cap-drop=all".to_owned(),
            "--security-opt=no-new-privileges".to_owned(),
            "--tmpfs=/tmp".to_owned(),
            PROCESSES.to_owned(),
            format!("--name={name}"),
            format!("--label={LABEL}={}", self.id),
        ];
        let (user, group) = (getuid(), getgid());
        // Without root, a container's users are others than ours unless it is said.
        let is_mapped = engine == ContainerEngine::Podman && !user.is_root();
        options.extend(is_mapped.then(|| "--userns=keep-id".to_owned()));
        options.push(format!("--user={}:{}", user.as_raw(), group.as_raw()));
        let network = match (&self.container.network, self.rules.net()) {
            (Some(network), _) => Some(network.as_str()),
            // Single hosts are the proxy's, which no container reaches.
            (None, NetRules::Nothing | NetRules::Hosts(_)) => Some("none"),
            (None, NetRules::Everything) => None,
        };
        options.extend(network.map(|network| format!("--network={network}")));
        options.extend(self.mounts().iter().map(|mount| format!("--volume={mount}")));
        // By name: values on a command line can be read by everybody on the machine.
        let passed = self.rules.env.iter().flatten().map(String::as_str);
        let names = self.named.iter().copied().chain(passed);
        options.extend(names.map(|name| format!("--env={name}")));
        options.into_iter().map(OsString::from).collect()
    }

    /// What is mounted, without what leads to files of ours.
    fn mounts(&self) -> Vec<ContainerMount> {
        let same = |path: &String, is_writable| ContainerMount {
            source: path.clone(),
            target: path.clone(),
            is_writable,
        };
        let read = self.rules.read.iter().map(|path| same(path, false));
        let write = self.rules.write.iter().map(|path| same(path, true));
        let all = self.container.mounts.iter().cloned().chain(read).chain(write);
        all.filter(|mount| !self.leads_to_ours(Path::new(&mount.source))).collect()
    }

    fn leads_to_ours(&self, path: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let path = real(path);
        self.never.iter().map(|it| real(it)).any(|it| it.starts_with(&path) || path.starts_with(it))
    }

    /// What is left out of what the entry mounts, in words.
    pub(super) fn notes(&self) -> Vec<String> {
        let mounts = self.container.mounts.iter().map(|it| it.source.as_str());
        let paths = self.rules.read.iter().chain(&self.rules.write).map(String::as_str);
        let refused = mounts.chain(paths).filter(|it| self.leads_to_ours(Path::new(it)));
        refused
            .map(|path| {
                format!("`{path}` is not mounted: it is or holds a file of Trunkline's own")
            })
            .collect()
    }

    /// No other run has it, of this process or of another.
    fn name(&self) -> String {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: the number matters, not when it is seen.
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let is_letter = |it: &char| it.is_ascii_alphanumeric() || *it == '-' || *it == '_';
        let id: String = self.id.chars().filter(is_letter).take(40).collect();
        format!("trunkline-{id}-{}-{run}", std::process::id())
    }
}

fn found_engine(launch: &Launch) -> ContainerEngine {
    let is_there = |engine: &ContainerEngine| {
        find_program(None, OsString::from(engine.word()).as_os_str(), &launch.env).is_some()
    };
    ContainerEngine::ALL.into_iter().find(is_there).unwrap_or(ContainerEngine::Podman)
}

fn joined(option: &str, value: &std::ffi::OsStr) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(value);
    joined
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::SandboxProfile;

    use super::*;

    #[test]
    fn the_engine_is_given_walls_and_names_of_variables_only() {
        let container = ContainerRules {
            image: "img".to_owned(),
            engine: Some(ContainerEngine::Docker),
            mounts: vec![
                ContainerMount::of_text("/srv/notes:/notes:rw").unwrap(),
                ContainerMount::of_text("/var/lib").unwrap(),
            ],
            network: None,
        };
        let rules = SandboxRules {
            net: Some(NetRules::Nothing),
            read: vec!["/srv/data".to_owned()],
            ..SandboxProfile::Standard.rules()
        };
        let never = [PathBuf::from("/var/lib/us")];
        let contained = Contained {
            rules: &rules,
            container: &container,
            id: "file:a",
            named: &["TOKEN"],
            never: &never,
        };
        let launch = Launch {
            command: "node".into(),
            args: vec!["x.js".into()],
            env: vec![("TOKEN".into(), "hunter2".into())],
            cwd: Some("/app".into()),
            ..Launch::default()
        };
        let launch = contained.launch(launch);
        let args: Vec<&str> = launch.args.iter().map(|it| it.to_str().unwrap()).collect();
        assert_eq!(launch.command, "docker");
        for expected in [
            "--rm",
            "--interactive",
            "--init",
            "--read-only",
            "--cap-drop=all",
            "--security-opt=no-new-privileges",
            "--network=none",
            "--env=TOKEN",
            "--label=trunkline.server=file:a",
            "--volume=/srv/notes:/notes:rw",
            "--volume=/srv/data:/srv/data:ro",
            "--workdir=/app",
            "--entrypoint=node",
        ] {
            assert!(args.contains(&expected), "{expected}: {args:?}");
        }
        assert_eq!(args[args.len() - 2..], ["img", "x.js"]);
        assert!(args.iter().any(|it| it.starts_with("--user=")), "{args:?}");
        assert!(
            !args.iter().any(|it| it.contains("hunter2") || it.contains("/var/lib")),
            "{args:?}"
        );
        assert_eq!(contained.notes().len(), 1);
        let name = args.iter().find_map(|it| it.strip_prefix("--name=")).unwrap();
        assert_eq!(launch.afterwards, ["rm", "--force", name]);
        assert_ne!(contained.name(), contained.name());
    }
}
