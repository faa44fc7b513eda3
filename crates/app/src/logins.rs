//! Logins at servers of a config file: kept in files of the user, known by the servers' addresses, so
//! that every config and every client of this user shares them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use trunkline_catalog::config::{ServerSpec, Transport};
use trunkline_control::logins::{GrantFiles, How, Logins};
use trunkline_control::net::Client;
use trunkline_control::oauth::{OAuth, Settings};
use trunkline_http::Url;
use trunkline_http::reach::{Cidr, Policy};

use crate::environment::Environment;

/// `trunkline login` is another process: how often to look whether it has run. Only those look whose
/// server wants a login.
const LOOK: Duration = Duration::from_secs(1);

/// Names the logins of those servers that may have one: in the network, with no header of their own
/// that says who we are.
pub(crate) fn marked(servers: Vec<ServerSpec>) -> Vec<ServerSpec> {
    let marked = |spec: ServerSpec| ServerSpec { login: login(&spec.transport), ..spec };
    servers.into_iter().map(marked).collect()
}

fn login(transport: &Transport) -> Option<String> {
    let Transport::Remote { url, headers, .. } = transport else { return None };
    let says = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    (!headers.iter().any(says)).then(|| url.clone())
}

/// The logins of this user, for these servers. Nothing is read before a server is connected to. None
/// where there is no directory for them, or no server that needs one.
pub(crate) fn of(servers: &[ServerSpec], environment: &Environment) -> Option<Logins> {
    servers.iter().any(|spec| spec.login.is_some()).then_some(())?;
    let policy = Policy { allowed: named(servers) };
    let judge = move |address| policy.judge(address).map_err(|refused| refused.to_string());
    let vault = Arc::new(GrantFiles::new(directory(environment)?));
    let oauth = OAuth::new(Client::new(Arc::new(judge)), vault, Settings::default());
    // The log has it; a server without a login still starts.
    Some(Logins::new(oauth, How::Command, LOOK, Arc::new(|_, _| {})))
}

fn directory(environment: &Environment) -> Option<PathBuf> {
    let data = environment.path("XDG_DATA_HOME");
    let data = data.or_else(|| environment.path("HOME").map(|home| home.join(".local/share")))?;
    Some(data.join("trunkline/logins"))
}

/// The private addresses that the config itself names. What a server names besides must be public: it
/// must not be able to send us to another host of a private network.
fn named(servers: &[ServerSpec]) -> Vec<Cidr> {
    let urls = servers.iter().filter_map(|spec| match &spec.transport {
        Transport::Remote { url, .. } => Url::parse(url).ok(),
        Transport::Stdio { .. } => None,
    });
    let hosts = urls.flat_map(|url| match url.host() {
        "localhost" => vec!["127.0.0.1".parse().ok(), "::1".parse().ok()],
        host => vec![host.parse::<IpAddr>().ok()],
    });
    hosts.flatten().map(Cidr::only).collect()
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::{ConfigSource, Rules, load};

    use super::*;

    fn servers(text: &str) -> Vec<ServerSpec> {
        let source = ConfigSource { name: "f", text: text.as_bytes() };
        load(&source, Rules::Full, &|_| None).unwrap().servers
    }

    #[test]
    fn only_servers_that_are_told_nothing_else_have_logins() {
        let text = r#"{"mcpServers":{"a":{"command":"x"},"b":{"url":"https://h/mcp"},
            "c":{"url":"https://h/mcp","headers":{"AUTHORIZATION":"Basic x"}},
            "d":{"url":"https://h/mcp","headers":{"X":"y"}}}}"#;
        let logins: Vec<_> = marked(servers(text)).into_iter().map(|spec| spec.login).collect();
        let here = Some("https://h/mcp".to_owned());
        assert_eq!(logins, [None, here.clone(), None, here]);
    }

    #[test]
    fn a_private_address_may_be_reached_if_the_config_names_it() {
        let text = r#"{"mcpServers":{"a":{"url":"http://127.0.0.1:1/mcp"},
            "b":{"url":"http://10.0.0.7/mcp"},"c":{"url":"https://h/mcp"}}}"#;
        let policy = Policy { allowed: named(&servers(text)) };
        for (address, allowed) in
            [("127.0.0.1", true), ("10.0.0.7", true), ("10.0.0.8", false), ("8.8.8.8", true)]
        {
            assert_eq!(policy.judge(address.parse().unwrap()).is_ok(), allowed, "{address}");
        }
    }
}
