//! A platform behind PgBouncer in transaction mode: each transaction may have another connection at the server.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use kit::client::Client;
use kit::database::Database;
use kit::mcp::Speak;
use kit::platform::{KEYS, SERVERS, id_of, remote};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, port};
use rustix::process::{Signal, geteuid};
use serde_json::json;

use super::{calls, echoing, maintain, stop};

/// Debian has it where only root looks by default.
fn program() -> &'static str {
    let place = "/usr/sbin/pgbouncer";
    if Path::new(place).exists() { place } else { "pgbouncer" }
}

/// One connection at the server for all of a replica's: nothing of one transaction may be left for the next.
fn pooler(room: &Room, direct: &str) -> (Client, String) {
    let rest = direct.trim_start_matches("postgres://");
    let (login, rest) = rest.rsplit_once('@').expect("a login");
    let (user, password) = login.split_once(':').expect("a password");
    let (address, database) = rest.split_once('/').expect("a database");
    let (database, _) = database.split_once('?').expect("parameters");
    let (host, behind) = address.split_once(':').expect("a port");
    let port = port::free();
    let config = room.write(
        "pgbouncer.ini",
        format!(
            "[databases]\npooled = host={host} port={behind} dbname={database} user={user} password={password}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 100\n\
             ignore_startup_parameters = extra_float_digits\n"
        ),
    );
    let mut command = Command::new(program());
    if geteuid().is_root() {
        // It does not run as root.
        command.args(["-u", "nobody"]);
        open(room, &config);
    }
    command.arg(config);
    let process = Client::spawn(command);
    wait_until("the pooler listens", LIMIT, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    (process, format!("postgres://{user}:{password}@127.0.0.1:{port}/pooled?sslmode=disable"))
}

/// Others may read it.
fn open(room: &Room, config: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    for (path, mode) in [(room.path(""), 0o755), (config.to_owned(), 0o644)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("its mode");
    }
}

#[test]
fn a_pooler_that_gives_each_transaction_another_connection_will_do() {
    let database = Database::new();
    let (beside, room) = (Room::new(), Room::new());
    let (pooler, url) = pooler(&beside, &database.direct_url());
    let service = echoing(&room, "a").listen(Wire::Http);
    let flags = ["--store", &url, "--health-interval", "1s"];
    let id = {
        let platform = room.platform(&flags);
        let mut body = remote("a", &service);
        body["connection_config"]["headers"] = json!({ "X-Key": "hunter2" });
        let id = id_of(&platform.register(&body));
        platform.wait_status(&id, "CONNECTED");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let platform = &platform;
                scope.spawn(move || {
                    for n in 0..5 {
                        let body = json!({ "name": format!("{writer}-{n}"), "role": "viewer" });
                        platform.admin().post(KEYS, &body).is(201);
                        platform.call("a.echo", &json!({ "n": n })).is(200);
                    }
                });
            }
        });
        wait_until("the calls are recorded", LIMIT, || calls(&platform) == 20);
        stop(&platform);
        id
    };
    let platform = room.platform(&flags);
    platform.wait_status(&id, "CONNECTED");
    let key = platform.key("caller");
    platform.mcp(&key).assert_echo("a", "echo", "{}");
    platform.admin().patch(&format!("{SERVERS}/{id}"), &json!({ "description": "x" })).is(200);
    stop(&platform);
    let data = room.path("data");
    let done = maintain(&[
        "audit",
        "verify",
        "--store",
        &url,
        "--data-dir",
        data.to_str().expect("UTF-8"),
    ]);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(pooler.is_alive());
    pooler.signal(Signal::TERM);
}
