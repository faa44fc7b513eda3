//! Clients that show a certificate: who they are, what they may do, and who is refused.

use std::net::SocketAddr;
use std::time::Duration;

use kit::LIMIT;
use kit::certificates::{Authority, Pair};
use kit::http::{Ask, Connection};
use kit::mcp::Speak;
use kit::platform::{ADMIN, KEYS};
use kit::process::wait_until;
use kit::rest::Rest;
use kit::room::Room;
use kit::serve::Serve;
use kit::streamable::Streamable;
use kit::tunnel::{Trust, Tunnel};
use serde_json::{Value, json};

use super::{BOTH, Encrypted, furnish, shown, text};

/// A platform that takes the certificates of clients.
struct Club {
    room: Room,
    serve: Serve,
    authority: Authority,
    /// Has signed the certificates of clients.
    members: Authority,
}

impl Club {
    #[track_caller]
    fn open(flags: &[&str]) -> Self {
        Self::open_in(Room::new(), flags)
    }

    #[track_caller]
    fn open_in(room: Room, flags: &[&str]) -> Self {
        furnish(&room);
        let (authority, members) = (Authority::new(), Authority::new());
        let files = authority.server().files(&room, "front");
        let (trusted, config) = (members.file(&room, "members.pem"), room.path("mcp.json"));
        let own =
            ["--tls-client-ca", text(&trusted), "--config", text(&config), "--start-timeout", "25"];
        let command = room.platform_command(&[&shown(&files)[..], &own, flags].concat());
        Self { serve: Serve::start(command), room, authority, members }
    }

    /// The way of a client with this certificate.
    fn way(&self, certificate: &Pair) -> SocketAddr {
        let trust = Trust::showing(&self.authority, &BOTH, certificate);
        Tunnel::to(self.serve.address(), trust).address()
    }

    fn way_of(&self, name: &str) -> SocketAddr {
        self.way(&self.members.client(name))
    }

    fn admin(&self) -> Rest {
        let trust = Trust::of(&self.authority, &BOTH);
        Rest::new(Tunnel::to(self.serve.address(), trust).address(), Some(ADMIN))
    }
}

fn me(way: SocketAddr) -> Value {
    Rest::new(way, None).get("/api/v1/me").is(200)
}

#[test]
fn the_name_in_a_certificate_is_who_calls_and_the_audit_log_has_it() {
    let club = Club::open(&[]);
    let way = club.way_of("build machine");
    let who = me(way);
    assert_eq!((&who["name"], &who["role"]), (&json!("cert:build machine"), &json!("caller")));
    assert_eq!(who["credential"], "certificate");
    let client = Streamable::new(way, "/mcp");
    client.initialize("2025-11-25").result();
    client.assert_echo("a", "echo", "{}");
    let call = json!({ "name": "a.echo", "arguments": {} });
    assert_eq!(Rest::new(way, None).post(kit::platform::CALL, &call).status(), 200);
    let admin = club.admin();
    wait_until("the call is in the audit log", LIMIT, || {
        let records = admin.get("/api/v1/audit?limit=1000").is(200);
        let records = records["records"].as_array().cloned().unwrap_or_default();
        records.iter().any(|record| record["credential_id"] == "cert:build machine")
    });
    // A URI names a client that has no common name.
    let machine = club.members.client_with_uri("spiffe://example/build");
    assert_eq!(me(club.way(&machine))["name"], "cert:spiffe://example/build");
}

#[test]
fn names_have_the_role_that_the_operator_gives_them() {
    let flags = ["--tls-client-role", "ops=admin", "--tls-client-role", "eve=none"];
    let club = Club::open(&flags);
    let make = json!({ "name": "ci", "role": "viewer" });
    for (name, role, status) in [("ops", "admin", 201), ("somebody", "caller", 403)] {
        let way = club.way_of(name);
        assert_eq!(me(way)["role"], role, "{name}");
        assert_eq!(Rest::new(way, None).post(KEYS, &make).status(), status, "{name}");
    }
    let eve = club.way_of("eve");
    let refused = Rest::new(eve, None).get("/api/v1/me");
    assert_eq!(refused.status(), 403, "{refused}");
    assert!(refused.response.text().contains("--tls-client-role"), "{refused}");
    assert_eq!(Connection::open(eve).ask(&Ask::post("/mcp", "{}")).status(), 403);
    // A token counts before the certificate, also a wrong one.
    assert_eq!(Rest::new(eve, Some(ADMIN)).get("/api/v1/me").is(200)["name"], "admin");
    let ops = club.way_of("ops");
    assert_eq!(Rest::new(ops, Some("wrong")).get("/api/v1/me").status(), 401);
}

#[test]
fn policies_know_the_name_in_a_certificate() {
    let room = Room::new();
    std::fs::create_dir_all(room.path("rules")).expect("a directory");
    room.write(
        "rules/one.cedar",
        "permit(principal, action, resource);\n\
         forbid(principal == Trunkline::User::\"cert:ci\", action, resource == Trunkline::Tool::\"a.mirror\");\n",
    );
    let rules = room.path("rules").to_str().expect("text").to_owned();
    let club = Club::open_in(room, &["--policies", &rules]);
    assert!(club.room.path("rules").exists());
    for (name, tools) in [("ci", 2), ("other", 3)] {
        let client = Streamable::new(club.way_of(name), "/mcp");
        client.initialize("2025-11-25").result();
        assert_eq!(client.list().len(), tools, "{name}");
    }
}

/// Does this way lead anywhere?
fn answers(way: SocketAddr) -> Option<u16> {
    let mut connection = Connection::try_open(way).ok()?;
    connection.try_send(&Ask::get("/api/v1/me").bytes(&way.to_string())).ok()?;
    connection.try_response(LIMIT).map(|response| response.status())
}

#[test]
fn a_name_that_cannot_be_read_is_not_passed_over_for_another() {
    let club = Club::open(&["--tls-client-role", "spiffe://example/ops=admin"]);
    let plain = club.members.client_with_uri("spiffe://example/ops");
    assert_eq!(answers(club.way(&plain)), Some(200));
    let odd = club.members.client_with_odd_name("spiffe://example/ops");
    assert_eq!(answers(club.way(&odd)), None, "whose common name nobody reads");
}

#[test]
fn who_was_signed_by_others_is_refused_and_none_may_be_refused_too() {
    for (is_required, without) in [(false, Some(401)), (true, None)] {
        let flags: &[&str] = if is_required { &["--tls-client-required"] } else { &[] };
        let club = Club::open(flags);
        assert_eq!(answers(club.way_of("ci")), Some(200));
        let stranger = Authority::new().client("ci");
        assert_eq!(answers(club.way(&stranger)), None, "signed by another authority");
        let nobody = Tunnel::to(club.serve.address(), Trust::of(&club.authority, &BOTH));
        assert_eq!(answers(nobody.address()), without, "required: {is_required}");
    }
}

#[test]
fn without_a_platform_a_certificate_is_as_good_as_the_token() {
    let room = Room::new();
    let members = Authority::new();
    let trusted = members.file(&room, "members.pem");
    let flags = ["--tls-client-ca", text(&trusted), "--token", "a-long-token-of-the-tests"];
    let front = Encrypted::start_in(room, &flags);
    let with = Trust::showing(&front.authority, &BOTH, &members.client("ci"));
    let with = Tunnel::to(front.address(), with);
    front.client(&with).assert_echo("a", "echo", "{}");
    let ask = Ask::post("/mcp", kit::mcp::initialize("1", "2025-11-25"));
    let without = front.tunnel();
    assert_eq!(Connection::open(without.address()).ask(&ask).status(), 401);
    let wrong = ask.header("Authorization", "Bearer wrong");
    assert_eq!(Connection::open(with.address()).ask(&wrong).status(), 401);
}

#[test]
fn a_certificate_that_has_ended_is_nobody_on_a_connection_from_before() {
    let club = Club::open(&["--tls-client-role", "boss=admin"]);
    // Long enough for a handshake on a busy machine.
    let way = club.way(&club.members.client_for("boss", Duration::from_secs(20)));
    let mut connection = Connection::open(way);
    let me = Ask::get("/api/v1/me");
    assert_eq!(connection.ask(&me).status(), 200);
    let make = Ask::new("POST", KEYS).header("Content-Type", "application/json");
    let make = make.body(json!({ "name": "late", "role": "admin" }).to_string());
    wait_until("it has ended", LIMIT, || connection.ask(&me).status() == 401);
    assert_eq!(connection.ask(&make).status(), 401);
}

#[test]
fn a_stream_ends_with_the_certificate_that_opened_it() {
    let club = Club::open(&[]);
    // Long enough for a handshake on a busy machine.
    let way = club.way(&club.members.client_for("reader", Duration::from_secs(20)));
    let client = Streamable::new(way, "/mcp");
    client.initialize("2025-11-25").result();
    let mut stream = client.connection();
    stream.begin(&client.dress(Ask::get("/mcp").header("Accept", "text/event-stream")));
    assert_eq!(stream.head(LIMIT).status, 200);
    // Nothing but comments until then; the limit is that of one answer.
    stream.body(2 * LIMIT);
    assert!(stream.is_free(), "it is still open");
}
