//! What a server is started with: its command, an environment that is not simply ours, and its walls.

use std::ffi::{OsStr, OsString};

use trunkline_keeper::Launch;

use crate::upstream::stdio::sandbox_policy::SandboxPolicy;

/// What servers get of our own environment, and what of the machine.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    variables: Vec<(OsString, OsString)>,
    pub sandbox: SandboxPolicy,
}

/// What programs need to find their files, their user, their language and the network. Anything
/// else (tokens of other programs above all) has to be asked for.
const USUAL: &[&str] = &[
    "HOME",
    "PATH",
    "SHELL",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];
const USUAL_PREFIXES: &[&str] = &["LC_", "XDG_"];

impl Inherited {
    /// `more` are the names (or `*` for everything) the user wants passed on as well.
    pub fn choose(all: impl IntoIterator<Item = (OsString, OsString)>, more: &[String]) -> Self {
        let everything = more.iter().any(|name| name == "*");
        let wanted = |name: &OsStr| {
            let name = name.to_string_lossy();
            everything
                || USUAL.contains(&&*name)
                || USUAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || more.iter().any(|more| *more == name)
        };
        let variables = all.into_iter().filter(|(name, _)| wanted(name)).collect();
        Self { variables, sandbox: SandboxPolicy::default() }
    }

    /// Adds or replaces one variable.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(held, _)| held != name);
        self.variables.push((name.into(), value.into()));
    }

    /// Names and values, in no particular order.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    pub(in crate::upstream) fn launch(
        &self,
        command: &str,
        args: &[String],
        env: &[(String, String)],
        cwd: Option<&str>,
    ) -> Launch {
        let mut all = self.variables.clone();
        // The config's own values come last: they replace what is inherited.
        for (name, value) in env {
            all.retain(|(held, _)| held != name.as_str());
            all.push((name.into(), value.into()));
        }
        Launch {
            command: command.into(),
            args: args.iter().map(OsString::from).collect(),
            env: all,
            cwd: cwd.map(Into::into),
            sandbox: None,
            afterwards: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(more: &[&str], expected: &[&str]) {
        let all = ["PATH", "LC_ALL", "GITHUB_TOKEN", "MINE"].map(|name| (name.into(), "x".into()));
        let more: Vec<_> = more.iter().map(ToString::to_string).collect();
        let got = Inherited::choose(all, &more);
        let names: Vec<_> = got.variables.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn tokens_of_others_stay_here_unless_asked_for() {
        check(&[], &["PATH", "LC_ALL"]);
        check(&["MINE"], &["PATH", "LC_ALL", "MINE"]);
        check(&["*"], &["PATH", "LC_ALL", "GITHUB_TOKEN", "MINE"]);
    }

    #[test]
    fn the_configs_own_variables_win() {
        let inherited = Inherited::choose([("PATH".into(), "ours".into())], &[]);
        let env = [("PATH".to_owned(), "theirs".to_owned())];
        let launch = inherited.launch("c", &[], &env, None);
        assert_eq!(launch.env, [("PATH".into(), "theirs".into())]);
    }
}
