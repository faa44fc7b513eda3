//! `trunkline serve` with its platform: a data directory, an admin, servers registered over REST.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::Ask;
use crate::limit::Limit;
use crate::mcp::Speak;
use crate::process::wait_until;
use crate::rest::{Answer, Rest};
use crate::room::Room;
use crate::serve::Serve;
use crate::service::{Service, Wire};
use crate::streamable::Streamable;
use crate::{LIMIT, bin, scan};

/// The admin token of every platform of the tests.
pub const ADMIN: &str = "an-admin-token-chosen-by-the-tests";
pub const SERVERS: &str = "/api/v1/aggregator/servers";
pub const CALL: &str = "/api/v1/tools/call";
pub const KEYS: &str = "/api/v1/keys";

/// Scripted servers listen on the loopback.
const LOOPBACK: [&str; 2] = ["--allow-net", "127.0.0.0/8"];

/// Dropping it kills the process.
#[derive(Debug)]
pub struct Platform {
    serve: Serve,
    admin: Rest,
}

impl Room {
    /// `trunkline serve` with a data directory of this room, not yet started: no config file, no
    /// address allowed. Its servers have no walls, unless the flags say so: the files of scripted servers lie
    /// beside those of the platform.
    pub fn platform_command(&self, flags: &[&str]) -> Command {
        let mut command = self.walled_platform_command(flags);
        if !flags.contains(&"--sandbox") {
            command.args(["--sandbox", "off"]);
        }
        command
    }

    /// [`Room::platform_command`] with the walls that a platform has by itself.
    pub fn walled_platform_command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(bin::trunkline());
        command.arg("serve").arg("--data-dir").arg(self.path("data"));
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        self.add_threads(&mut command, flags);
        self.mark(&mut command);
        command.args(flags);
        for name in [
            "MCP_PROXY_CONFIG_PATH",
            "PORT",
            "TRUNKLINE_TOKEN",
            "KEEP_SERVER_OPEN",
            "TRUNKLINE_KEY",
            "TRUNKLINE_STORE",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ] {
            command.env_remove(name);
        }
        command.env("TRUNKLINE_ADMIN_TOKEN", ADMIN);
        command
    }

    /// The platform, which may use servers on the loopback.
    #[track_caller]
    pub fn platform(&self, flags: &[&str]) -> Platform {
        Platform::start(self.platform_command(&[&LOOPBACK, flags].concat()))
    }
}

impl Platform {
    #[track_caller]
    pub fn start(command: Command) -> Self {
        let serve = Serve::start(command);
        let admin = Rest::new(serve.address(), Some(ADMIN));
        Self { serve, admin }
    }

    pub fn serve(&self) -> &Serve {
        &self.serve
    }

    pub fn admin(&self) -> &Rest {
        &self.admin
    }

    /// REST with this token, or with none.
    pub fn rest(&self, token: Option<&str>) -> Rest {
        Rest::new(self.serve.address(), token)
    }

    /// An initialised session at `/mcp` with this token.
    #[track_caller]
    pub fn mcp(&self, token: &str) -> Streamable {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", &bearer[..])];
        let client = Streamable::with_headers(self.serve.address(), "/mcp", &headers);
        client.initialize("2025-11-25").result();
        client
    }

    /// Registers a server; what the API says about it.
    #[track_caller]
    pub fn register(&self, body: &Value) -> Value {
        self.admin.post(SERVERS, body).is(201)
    }

    /// Registers a network server and waits until it is connected; its id.
    #[track_caller]
    pub fn connected(&self, name: &str, service: &Service) -> String {
        let id = id_of(&self.register(&remote(name, service)));
        self.wait_status(&id, "CONNECTED");
        id
    }

    #[track_caller]
    pub fn server(&self, id: &str) -> Value {
        self.admin.get(&format!("{SERVERS}/{id}")).is(200)
    }

    /// Waits until the server has this status; how it is then.
    #[track_caller]
    pub fn wait_status(&self, id: &str, status: &str) -> Value {
        self.wait_server(id, status, LIMIT, |server| server["status"] == status)
    }

    /// Waits until `wanted` accepts the server; how it is then.
    #[track_caller]
    pub fn wait_server(
        &self,
        id: &str,
        what: &str,
        limit: impl Into<Limit>,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = Value::Null;
        let deadline = limit.into().begin();
        while !deadline.is_over() {
            last = self.server(id);
            if wanted(&last) {
                return last;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("not within {deadline}: {what}; it is {last:#}");
    }

    #[track_caller]
    pub fn act(&self, id: &str, verb: &str) -> Answer {
        self.admin.bare("POST", &format!("{SERVERS}/{id}/{verb}"))
    }

    /// Calls a tool over REST.
    #[track_caller]
    pub fn call(&self, name: &str, arguments: &Value) -> Answer {
        self.admin.post(CALL, &json!({ "name": name, "arguments": arguments }))
    }

    /// The POST of a call, for tests that begin it and look later.
    pub fn call_ask(name: &str, arguments: &str) -> Ask {
        let name = scan::quote(name);
        let body = format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        Ask::new("POST", CALL).header("Content-Type", "application/json").body(body)
    }

    /// Makes a key; the whole answer.
    #[track_caller]
    pub fn make_key(&self, body: &Value) -> Value {
        self.admin.post(KEYS, body).is(201)
    }

    /// A key of this role for all tools.
    #[track_caller]
    pub fn key(&self, role: &str) -> String {
        let made = self.make_key(&json!({ "name": format!("a {role}"), "role": role }));
        made["key"].as_str().expect("a key").to_owned()
    }

    /// The names of all tools that REST lists to this token, pages followed to the end.
    #[track_caller]
    pub fn tool_names(&self, token: &str) -> Vec<String> {
        let groups = self.tool_groups(token);
        let tools = groups.iter().flat_map(|group| group["tools"].as_array().into_iter().flatten());
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// The groups of `GET /tools` of all pages.
    #[track_caller]
    pub fn tool_groups(&self, token: &str) -> Vec<Value> {
        let rest = self.rest(Some(token));
        pages(&rest, "/api/v1/tools?limit=1000", "servers")
    }

    /// Every record of the audit log, the oldest first.
    #[track_caller]
    pub fn audit(&self) -> Vec<Value> {
        let mut records = pages(&self.admin, "/api/v1/audit?limit=1000", "records");
        records.reverse();
        records
    }

    /// Waits for a record that `wanted` accepts: calls are written a moment after their answer.
    #[track_caller]
    pub fn wait_audit(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        wait_until(&format!("an audit record: {what}"), LIMIT, || {
            found = self.audit().into_iter().find(&wanted);
            found.is_some()
        });
        found.unwrap_or_default()
    }
}

/// Between two looks at a server: each is a request.
const PAUSE: Duration = Duration::from_millis(20);

/// The registration of a network server.
pub fn remote(name: &str, service: &Service) -> Value {
    let kind = match service.wire() {
        Wire::Http => "HTTP",
        Wire::Sse => "SSE",
    };
    json!({
        "name": name,
        "transport_type": kind,
        "connection_config": { "url": service.url() },
        "auto_connect": true,
    })
}

/// The registration of a command, from its entry in a config.
pub fn stdio(name: &str, entry: &Value) -> Value {
    json!({
        "name": name,
        "transport_type": "STDIO",
        "connection_config": entry,
        "auto_connect": true,
    })
}

#[track_caller]
pub fn id_of(shown: &Value) -> String {
    shown["id"].as_str().unwrap_or_else(|| panic!("no id: {shown}")).to_owned()
}

/// Everything a list has, pages followed to the end.
#[track_caller]
pub fn pages(rest: &Rest, path: &str, member: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut next = path.to_owned();
    loop {
        let page = rest.get(&next).is(200);
        all.extend(
            page[member].as_array().unwrap_or_else(|| panic!("no {member}: {page}")).clone(),
        );
        let Some(cursor) = page["next_cursor"].as_str() else { return all };
        let joint = if path.contains('?') { '&' } else { '?' };
        next = format!("{path}{joint}cursor={}", percent(cursor));
    }
}

/// Everything but letters and digits escaped.
pub fn percent(text: &str) -> String {
    let escaped = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escaped).collect()
}
