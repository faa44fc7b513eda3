//! The programs that the tests put before `serve`, or send at it: Debian's haproxy, nginx, curl and h2load.

use std::path::Path;

use crate::packages;

const PACKAGES: [&str; 5] = ["haproxy", "nginx", "libnginx-mod-stream", "curl", "nghttp2-client"];

/// Where Debian has what passes connections on.
const STREAM_MODULE: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

/// Installs them if they are missing.
pub fn install() -> Result<(), String> {
    let why = "the tests of the front over TLS need load balancers and clients (haproxy, nginx, curl, h2load)";
    packages::ensure(why, &PACKAGES, || {
        let is_there = |name: &&str| {
            let place = Path::new("/usr/sbin").join(name);
            packages::on_path(name).is_some() || place.exists()
        };
        let programs = ["haproxy", "nginx", "curl", "h2load"];
        let all = programs.iter().all(is_there) && Path::new(STREAM_MODULE).exists();
        all.then_some(())
    })
}
