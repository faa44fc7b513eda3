//! Where the store is: `sqlite:PATH` or `postgres://…`, whose password nobody gets to see.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;
use trunkline_http::decode;

#[derive(Clone)]
pub struct StoreUrl(pub(crate) StoreLocation);

#[derive(Clone)]
pub(crate) enum StoreLocation {
    Sqlite(PathBuf),
    Postgres(Box<PostgresAddress>),
}

#[derive(Clone)]
pub(crate) struct PostgresAddress {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: Tls,
    /// As it may be shown.
    shown: String,
}

/// What libpq's `sslmode` asks for. The root is a file with the authorities to trust; without one
/// they are the system's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tls {
    Disable,
    /// With TLS if the server has it; who it is, is not checked.
    Prefer,
    /// With TLS; who it is, is not checked.
    Require,
    /// The server's certificate is by an authority we trust, whatever name it has.
    VerifyCa {
        root: Option<PathBuf>,
    },
    /// … and for the server's name.
    VerifyFull {
        root: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    #[error("a store is `sqlite:PATH` or `postgres://USER@HOST/DATABASE`")]
    Unknown,
    #[error("`sqlite:` is followed by the path of a file")]
    NoPath,
    #[error("`{0}` is not a value of sslmode: disable, prefer, require, verify-ca or verify-full")]
    SslMode(String),
    #[error("the address of Postgres cannot be read: {0}")]
    Postgres(String),
}

impl StoreUrl {
    /// Where it is on this machine, if it is a file here.
    pub fn file(&self) -> Option<&Path> {
        match &self.0 {
            StoreLocation::Sqlite(path) => Some(path),
            StoreLocation::Postgres(_) => None,
        }
    }

    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.starts_with(':') || path.contains('\0') {
                return Err(UrlError::NoPath);
            }
            return Ok(Self::sqlite(Path::new(path)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return address(text).map(|address| Self(StoreLocation::Postgres(Box::new(address))));
        }
        Err(UrlError::Unknown)
    }

    /// Is it a file in this directory?
    pub fn is_in(&self, directory: &Path) -> bool {
        matches!(&self.0, StoreLocation::Sqlite(path) if path.parent() == Some(directory))
    }

    /// The file at this path, which may have any name.
    pub fn sqlite(path: &Path) -> Self {
        Self(StoreLocation::Sqlite(path.to_owned()))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            StoreLocation::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            StoreLocation::Postgres(address) => f.write_str(&address.shown),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The settings of TLS are ours to read: the driver knows only some of them.
fn address(text: &str) -> Result<PostgresAddress, UrlError> {
    let (base, query) = text.split_once('?').unwrap_or((text, ""));
    let (mut mode, mut root, mut rest) = (None, None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value),
            Some(("sslrootcert", value)) => {
                let path = decode(value).map_err(|bad| UrlError::Postgres(bad.to_string()))?;
                root = Some(PathBuf::from(path.into_owned()));
            }
            _ => rest.push(pair),
        }
    }
    let tls = match mode {
        Some("disable") => Tls::Disable,
        None | Some("prefer") => Tls::Prefer,
        Some("require") if root.is_none() => Tls::Require,
        // libpq: an authority to check against makes `require` check.
        Some("require" | "verify-ca") => Tls::VerifyCa { root },
        Some("verify-full") => Tls::VerifyFull { root },
        Some(other) => return Err(UrlError::SslMode(other.to_owned())),
    };
    let plain =
        if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    let mut config: tokio_postgres::Config =
        plain.parse().map_err(|error| UrlError::Postgres(harmless(&error)))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(UrlError::Postgres("it names no host".to_owned()));
    }
    config.ssl_mode(match tls {
        Tls::Disable => tokio_postgres::config::SslMode::Disable,
        Tls::Prefer => tokio_postgres::config::SslMode::Prefer,
        Tls::Require | Tls::VerifyCa { .. } | Tls::VerifyFull { .. } => {
            tokio_postgres::config::SslMode::Require
        }
    });
    let shown = shown(&config);
    Ok(PostgresAddress { config, tls, shown })
}

/// The driver's errors name the option, not its value.
fn harmless(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// User, hosts and database, from what was understood: what was not cannot slip through.
fn shown(config: &tokio_postgres::Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            tokio_postgres::config::Host::Tcp(name) => name.clone(),
            tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
        })
        .chain(config.get_hostaddrs().iter().map(ToString::to_string))
        .collect();
    let ports: Vec<String> = config.get_ports().iter().map(ToString::to_string).collect();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let port = if ports.is_empty() { String::new() } else { format!(":{}", ports.join(",")) };
    let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
    format!("postgres://{user}{}{port}{database}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_their_password() {
        let table = [
            ("sqlite:/var/lib/t/store.db", Ok("sqlite:/var/lib/t/store.db")),
            ("sqlite:///var/store.db", Ok("sqlite:/var/store.db")),
            ("sqlite:store.db", Ok("sqlite:store.db")),
            ("sqlite:", Err(UrlError::NoPath)),
            ("sqlite::memory:", Err(UrlError::NoPath)),
            ("mysql://a@b/c", Err(UrlError::Unknown)),
            ("", Err(UrlError::Unknown)),
            ("postgres://u:hunter2@db:5433/t", Ok("postgres://u@db:5433/t")),
            ("postgresql://u:hunter2@db/t?password=hunter2", Ok("postgres://u@db:5432/t")),
            ("postgres://u:hunter2@a,b/t?sslmode=verify-full", Ok("postgres://u@a,b:5432,5432/t")),
            ("postgres://u@%2Frun%2Fpg/t", Ok("postgres://u@/run/pg:5432/t")),
            (
                "postgres://db/t?sslrootcert=%+a",
                Err(UrlError::Postgres("a % is not followed by two hexadecimal digits".to_owned())),
            ),
            ("postgres://db/t?sslmode=maybe", Err(UrlError::SslMode("maybe".to_owned()))),
        ];
        for (text, expected) in table {
            let parsed = StoreUrl::parse(text);
            assert_eq!(parsed.map(|url| url.to_string()), expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn no_error_and_no_debug_text_holds_the_password() {
        for text in [
            "postgres://u:hunter2@db:99999/t",
            "postgres://u:hunter2@db/t?what=hunter2",
            "postgres://u:hunter2@db/t?port=hunter2",
            "postgres://u:hunter2@",
            "postgres://u:hunter2%zz@db/t",
            "postgres://u:hunter2@db/t",
        ] {
            let said = format!("{:?}", StoreUrl::parse(text));
            assert!(!said.contains("hunter2"), "{text}: {said}");
        }
    }

    #[test]
    fn sslmode_means_what_it_means_to_libpq() {
        let table = [
            ("", Tls::Prefer),
            ("?sslmode=disable", Tls::Disable),
            ("?sslmode=prefer", Tls::Prefer),
            ("?sslmode=require", Tls::Require),
            ("?sslmode=require&sslrootcert=/a", Tls::VerifyCa { root: Some("/a".into()) }),
            ("?sslmode=verify-ca", Tls::VerifyCa { root: None }),
            ("?sslrootcert=%2Fa&sslmode=verify-full", Tls::VerifyFull { root: Some("/a".into()) }),
        ];
        for (query, expected) in table {
            let url = StoreUrl::parse(&format!("postgres://u@db/t{query}")).unwrap();
            let StoreLocation::Postgres(address) = url.0 else { panic!("{query}") };
            assert_eq!(address.tls, expected, "{query}");
        }
    }
}
