//! Server entries that start Trunkline with a config that leads back to one already on the way:
//! found by reading the configs, before anything is started.
//!
//! At run time such a loop is cut (`chain`), but the cut happens in a process far below, whose
//! message reaches no user. Here the entry that begins the loop is named.

use std::io;
use std::path::{Path, PathBuf};

use trunkline_catalog::config::{self, Config, ConfigSource, Rules, ServerSpec, Transport};

use crate::environment::Environment;

/// Configs followed one below the other: as many as may run one below the other.
const MOST_STEPS: usize = 8;

/// The variable that names the config where `--config` does not.
const CONFIG_VARIABLE: &str = "MCP_PROXY_CONFIG_PATH";

/// What another config is read with.
struct Files<'f> {
    environment: &'f Environment,
    read: fn(&Path) -> io::Result<Vec<u8>>,
}

/// Adds a warning for every server whose entry leads back to a config that is being served. `read`
/// reads the text of another one.
pub(crate) fn warn(
    config: &mut Config,
    path: &Path,
    environment: &Environment,
    read: fn(&Path) -> io::Result<Vec<u8>>,
) {
    let files = Files { environment, read };
    let start = absolute(path, None);
    let found: Vec<(String, String)> = config
        .servers
        .iter()
        .filter_map(|server| {
            let way = way_back(server, &mut vec![start.clone()], &files)?;
            Some((server.key.clone(), message(&server.key, &way)))
        })
        .collect();
    for (key, message) in found {
        let help = "remove the entry from one of these configs, or give it another config";
        config.warn_about_server(&key, message, help);
    }
}

/// The configs from the first one to the one that was met before, if this server's entry leads there.
fn way_back(
    server: &ServerSpec,
    way: &mut Vec<PathBuf>,
    files: &Files<'_>,
) -> Option<Vec<PathBuf>> {
    let next = named_config(server)?;
    let is_known = way.contains(&next);
    way.push(next.clone());
    if is_known {
        return Some(way.clone());
    }
    let found = match way.len() > MOST_STEPS {
        true => None,
        false => files.servers(&next).iter().find_map(|server| way_back(server, way, files)),
    };
    way.pop();
    found
}

impl Files<'_> {
    /// The servers of another config, as far as it can be read. Variables it needs and that are not
    /// set are empty: they are rarely part of the path of a config.
    fn servers(&self, path: &Path) -> Vec<ServerSpec> {
        let Ok(text) = (self.read)(path) else { return Vec::new() };
        let source = ConfigSource { name: "", text: &text };
        let variable = |name: &str| self.environment.get(name).or_else(|| Some(String::new()));
        config::load(&source, Rules::Full, &variable).map_or_else(|_| Vec::new(), |it| it.servers)
    }
}

/// The config that an entry starts Trunkline with, if it does: directly, through `npx` or `env`, or
/// in the text of a shell's `-c`.
fn named_config(server: &ServerSpec) -> Option<PathBuf> {
    let Transport::Stdio { command, args, env, cwd } = &server.transport else { return None };
    if server.disabled {
        return None;
    }
    let line = std::iter::once(command).chain(args);
    let words: Vec<&str> = line.flat_map(|part| part.split_whitespace()).map(unquoted).collect();
    let at = words.iter().position(|word| is_program(word))?;
    let behind = words.get(at + 1..).unwrap_or_default();
    let flag = behind.iter().enumerate().find_map(|(at, word)| match *word {
        "--config" => behind.get(at + 1).copied(),
        word => word.strip_prefix("--config=").map(unquoted),
    });
    let variable = || env.iter().find(|(name, _)| name == CONFIG_VARIABLE).map(|(_, path)| &**path);
    let path = flag.or_else(variable).filter(|path| !path.is_empty())?;
    Some(absolute(Path::new(path), cwd.as_deref()))
}

fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.split('@').next().unwrap_or(name).trim_end_matches(".exe");
    matches!(name, "trunkline" | "mcp-simple-aggregator")
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

fn absolute(path: &Path, cwd: Option<&str>) -> PathBuf {
    let path = Path::new(cwd.unwrap_or_default()).join(path);
    std::fs::canonicalize(&path).unwrap_or(path)
}

fn message(key: &str, way: &[PathBuf]) -> String {
    let shown: Vec<String> = way.iter().map(|path| path.display().to_string()).collect();
    format!("server `{key}` starts Trunkline in a loop, which is cut: {}", shown.join(" → "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(entry: &str) -> Option<String> {
        let text = format!("{{\"mcpServers\":{{\"s\":{entry}}}}}");
        let source = ConfigSource { name: "", text: text.as_bytes() };
        let config = config::load(&source, Rules::Full, &|_| None).unwrap();
        Some(named_config(&config.servers[0])?.to_string_lossy().into_owned())
    }

    #[test]
    fn the_config_of_an_entry_is_found_however_trunkline_is_started() {
        let expected = Some("/no/b.json".to_owned());
        for entry in [
            r#"{"command":"trunkline","args":["--config","/no/b.json"]}"#,
            r#"{"command":"/usr/bin/trunkline","args":["--restart","--config=/no/b.json"]}"#,
            r#"{"command":"mcp-simple-aggregator","args":["--config","b.json"],"cwd":"/no"}"#,
            r#"{"command":"trunkline","env":{"MCP_PROXY_CONFIG_PATH":"/no/b.json"}}"#,
            r#"{"command":"npx","args":["-y","trunkline@1","--config","/no/b.json"]}"#,
            r#"{"command":"sh","args":["-c","exec trunkline --config '/no/b.json'"]}"#,
            r#"{"command":"env","args":["-i","/x/trunkline","--config","/no/b.json"]}"#,
        ] {
            assert_eq!(named(entry), expected, "{entry}");
        }
        for entry in [
            r#"{"command":"other","args":["--config","/no/b.json"]}"#,
            r#"{"command":"trunkline"}"#,
            r#"{"command":"trunkline","args":["--config","/no/b.json"],"disabled":true}"#,
            r#"{"url":"http://127.0.0.1:1/mcp"}"#,
        ] {
            assert_eq!(named(entry), None, "{entry}");
        }
    }
}
