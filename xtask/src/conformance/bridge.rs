//! A proxy that speaks HTTP/1.1 to the suite and HTTP/2 over TLS to the gateway: Debian's haproxy.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::packages;

/// It runs until this value goes away.
pub(super) struct Bridge {
    child: Child,
    pub(super) url: String,
}

/// What the gateway needs to speak TLS. Its own pages come from the proxy, without.
pub(super) fn flags() -> [String; 4] {
    let path = |name: &str| testdata(name).display().to_string();
    ["--tls-cert".into(), path("local.pem"), "--tls-key".into(), path("local.key.pem")]
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/testdata/tls").join(name)
}

impl Bridge {
    pub(super) fn to(gateway: &str, place: &Path) -> Result<Self, String> {
        let found = || {
            let usual = PathBuf::from("/usr/sbin/haproxy");
            packages::on_path("haproxy").or_else(|| usual.exists().then_some(usual))
        };
        let haproxy = packages::ensure("conformance over HTTP/2", &["haproxy"], found)?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let here = free.map_err(|error| format!("no free port: {error}"))?;
        let there = gateway.trim_start_matches("https://");
        let config = place.join("bridge.cfg");
        // The suite is a page without TLS; the gateway trusts only pages with it.
        let https_pages = "http-request replace-header Origin ^http://(.*)$ https://\\1";
        let text = format!(
            "defaults\n mode http\n timeout connect 30s\n timeout client 5m\n timeout server 5m\n \
             option http-no-delay\n\
             frontend front\n bind {here}\n default_backend serve\n {https_pages}\n\
             backend serve\n http-reuse always\n \
             server serve {there} ssl verify required ca-file {} sni str(localhost) alpn h2\n",
            testdata("authority.pem").display()
        );
        fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;
        let mut command = Command::new(haproxy);
        command.arg("-db").arg("-f").arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("haproxy: {error}"))?;
        Ok(Self { child, url: format!("http://{here}") })
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
