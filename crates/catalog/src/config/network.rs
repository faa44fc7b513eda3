//! What a file says about the way to a server with an address: its proxy and its TLS files.

use trunkline_http::proxy::{Proxy, ProxySetting};

use super::checker::{find, wrong_type};
use super::keys::{Keys, NONE};
use super::network_rules::{
    AUTHORITY, CERTIFICATE, NetworkRules, PRIVATE_KEY, PROXY, TLS, TLS_MEMBERS, TlsFiles,
};
use super::path::Path;
use super::problem::Problem;
use super::read::ConfigReader;
use crate::jsonc::{JsonMember, Value};

/// What `proxy` says for no proxy.
const NO_PROXY: &str = "none";

const TLS_KEYS: Keys<'_> = Keys {
    known: &TLS_MEMBERS,
    spellings: &[
        (AUTHORITY, AUTHORITY),
        ("cacert", AUTHORITY),
        ("authority", AUTHORITY),
        (CERTIFICATE, CERTIFICATE),
        ("certificate", CERTIFICATE),
        ("clientCert", CERTIFICATE),
        (PRIVATE_KEY, PRIVATE_KEY),
        ("privateKey", PRIVATE_KEY),
        ("clientKey", PRIVATE_KEY),
    ],
    ..NONE
};

impl ConfigReader<'_, '_> {
    pub(crate) fn network(&mut self, members: &[JsonMember], at: &Path) -> NetworkRules {
        NetworkRules {
            proxy: find(members, PROXY).map(|it| self.proxy(it, at)).unwrap_or_default(),
            tls: find(members, TLS).map(|it| self.tls(it, at)).unwrap_or_default(),
        }
    }

    fn proxy(&mut self, member: &JsonMember, at: &Path) -> ProxySetting {
        let Some(value) = self.filled(member, at) else { return ProxySetting::default() };
        if value == NO_PROXY {
            return ProxySetting::Direct;
        }
        // The variables of a disabled server need not be set.
        if self.disabled && value.contains('$') {
            return ProxySetting::default();
        }
        match Proxy::parse(&value) {
            Ok(proxy) => {
                if let Some((user, password)) = proxy.credentials() {
                    self.secrets.add(PROXY, &value);
                    // Some proxies take a token in the place of the name.
                    self.secrets.add(PROXY, if password.is_empty() { user } else { password });
                }
                ProxySetting::Through(proxy)
            }
            Err(bad) => {
                let message = format!("`{PROXY}` is no proxy: {bad}");
                let problem = Problem::schema(&at.key(PROXY), member.value.span, message);
                let help = "write \"http://HOST:PORT\", with USER:PASSWORD@ if needed, or \"none\"";
                self.check.report(problem.help(help));
                ProxySetting::default()
            }
        }
    }

    fn tls(&mut self, member: &JsonMember, at: &Path) -> TlsFiles {
        let at = at.key(TLS);
        let Value::Object(members) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`tls`", "an object");
            self.check.report(problem.help("write {\"ca\": \"/path/ca.pem\"}"));
            return TlsFiles::default();
        };
        self.check.duplicates(members, &at);
        self.check.other_keys(members, &at, &TLS_KEYS, None);
        let mut file = |name| find(members, name).and_then(|member| self.file(member, &at));
        let files = TlsFiles {
            authority: file(AUTHORITY),
            certificate: file(CERTIFICATE),
            key: file(PRIVATE_KEY),
        };
        let half = match (find(members, CERTIFICATE), find(members, PRIVATE_KEY)) {
            (Some(one), None) => Some((one, PRIVATE_KEY)),
            (None, Some(one)) => Some((one, CERTIFICATE)),
            _ => None,
        };
        if let Some((one, missing)) = half {
            let message = format!("`{}` needs `{missing}` beside it", one.key.value);
            let problem = Problem::schema(&at.key(missing), one.key.span, message);
            self.check.report(problem.help("name the certificate in `cert` and its key in `key`"));
        }
        files
    }

    fn file(&mut self, member: &JsonMember, at: &Path) -> Option<String> {
        let mut path = self.filled(member, at)?;
        if path.starts_with("~/") {
            path.replace_range(..1, &(self.check.environment)("HOME").unwrap_or_default());
        }
        if !path.starts_with('/') && !self.disabled {
            let name = &member.key.value;
            let message = format!("`{name}` must be an absolute path");
            let problem = Problem::schema(&at.key(name), member.value.span, message);
            self.check.report(problem.help("write /path, ~/path or ${VARIABLE}/path"));
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigSource, Problems, Rules, ServerSpec, Transport, load};

    fn read(more: &str) -> Result<ServerSpec, Problems> {
        let text = format!(r#"{{"mcpServers":{{"a":{{"url":"https://h/mcp",{more}}}}}}}"#);
        let source = ConfigSource { name: "f", text: text.as_bytes() };
        let environment = |name: &str| match name {
            "PASSWORD" => Some("hunter2222".to_owned()),
            "HOME" => Some("/home/me".to_owned()),
            _ => None,
        };
        load(&source, Rules::Full, &environment).map(|mut config| config.servers.remove(0))
    }

    fn rules(spec: &ServerSpec) -> NetworkRules {
        let Transport::Remote { network, .. } = &spec.transport else { panic!("{spec:?}") };
        network.clone()
    }

    #[test]
    fn the_way_to_a_server_is_read() {
        let proxy = |text| ProxySetting::Through(Proxy::parse(text).unwrap());
        for (more, expected) in [
            (r#""proxy":"none""#, ProxySetting::Direct),
            (r#""proxy":"http://p:3128""#, proxy("http://p:3128")),
            (r#""proxy":"http://me:${PASSWORD}@p:3128""#, proxy("http://me:hunter2222@p:3128")),
            (r#""proxy":"socks5h://p""#, proxy("socks5://p:1080")),
            (r#""disabled":true,"proxy":"http://${MISSING}""#, ProxySetting::Environment),
            (r#""tls":{}"#, ProxySetting::Environment),
        ] {
            let spec = read(more).unwrap();
            assert_eq!(rules(&spec).proxy, expected, "{more}");
            assert!(!format!("{spec:?}").contains("hunter2222"), "{spec:?}");
        }
        let spec = read(r#""proxy":"http://me:s3cret-word@p""#).unwrap();
        assert!(!spec.secrets.redact("407 for s3cret-word").contains("s3cret"));
        let tls = r#""tls":{"ca":"~/ca.pem","cert":"/c.pem","key":"${HOME}/k.pem"}"#;
        let path = |text: &str| Some(text.to_owned());
        let expected = TlsFiles {
            authority: path("/home/me/ca.pem"),
            certificate: path("/c.pem"),
            key: path("/home/me/k.pem"),
        };
        assert_eq!(rules(&read(tls).unwrap()).tls, expected);
    }

    #[test]
    fn a_mistake_is_told_with_its_place_and_without_the_value() {
        for (more, at, message) in [
            (r#""proxy":"ftp://me:s3cret@p""#, "proxy", "is no proxy"),
            (r#""proxy":"http://me:s3cret@p:port""#, "proxy", "the port is not a number"),
            (r#""proxy":7"#, "proxy", "must be a string"),
            (r#""proxy":"http://me:${MISSING}@p""#, "proxy", "MISSING"),
            (r#""tls":"x""#, "tls", "must be an object"),
            (r#""tls":{"ca":"ca.pem"}"#, "tls.ca", "an absolute path"),
            (r#""tls":{"cert":"/c.pem"}"#, "tls.key", "`cert` needs `key`"),
            (r#""tls":{"key":"/k.pem"}"#, "tls.cert", "`key` needs `cert`"),
        ] {
            let problems = read(more).unwrap_err();
            let problem = problems.iter().find(|it| it.is_error()).unwrap();
            assert!(problem.message.contains(message), "{more}: {}", problem.message);
            assert!(problem.path.ends_with(at), "{more}: {}", problem.path);
            assert!(!problem.message.contains("s3cret"), "{}", problem.message);
        }
    }
}
