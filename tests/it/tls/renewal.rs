//! A new certificate while `serve` runs: no connection is dropped, and a broken one changes nothing.

use kit::certificates::Pair;
use kit::http::Ask;
use kit::mcp::{self, Speak};
use kit::process::wait_until;
use kit::tunnel::Trust;
use kit::{LIMIT, scan};
use rustix::process::Signal;

use super::{BOTH, Encrypted};

/// The certificate that the front shows to a new connection, as DER.
#[track_caller]
fn served(front: &Encrypted) -> Vec<u8> {
    let trust = Trust::of(&front.authority, &BOTH);
    let (_, tls) = trust.connect(front.address()).expect("a handshake");
    tls.peer_certificates().expect("a certificate")[0].to_vec()
}

fn der(pair: &Pair) -> Vec<u8> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM").to_vec()
}

#[test]
fn a_new_pair_is_shown_to_new_connections_and_open_ones_go_on() {
    let front = Encrypted::start(&["--debug"]);
    let tunnel = front.tunnel();
    let client = front.client(&tunnel);
    let mut open = client.connection();
    open.begin(&client.dress(Ask::post("/mcp", mcp::call("7", "a.wait", r#"{"n":1}"#))));
    wait_until("the call is open", LIMIT, || {
        !kit::ledger::calls(&front.room.ledger("a")).is_empty()
    });
    let renewed = front.authority.server();
    renewed.files(&front.room, "front");
    wait_until("the new certificate is shown", LIMIT, || served(&front) == der(&renewed));
    front.room.open_gate("go");
    let answer = open.response(LIMIT);
    assert_eq!(scan::get(&answer.body, "result"), Some(&br#"{"n":1}"#[..]));
    client.assert_echo("a", "echo", "{}");
    let said = front.serve.process().stderr();
    assert!(!said.contains("cannot be replaced"), "{said}");
}

#[test]
fn a_broken_pair_keeps_the_old_one_and_is_told_with_the_remedy() {
    let front = Encrypted::start(&[]);
    let before = served(&front);
    front.room.write("front.key.pem", &front.authority.server().key);
    let words =
        ["the one from before stays in use", "front.key.pem is not the key of the certificate"];
    front.serve.process().wait_stderr(&words, LIMIT);
    assert_eq!(served(&front), before);
    let tunnel = front.tunnel();
    front.client(&tunnel).assert_echo("a", "echo", "{}");
    let told = front.serve.process().stderr().matches("stays in use").count();
    assert_eq!(told, 1, "once");
    let renewed = front.authority.server();
    renewed.files(&front.room, "front");
    wait_until("the new certificate is shown", LIMIT, || served(&front) == der(&renewed));
}

#[test]
fn sighup_reads_the_pair_again() {
    let front = Encrypted::start(&["--debug"]);
    assert!(front.files.key.exists());
    front.serve.process().signal(Signal::HUP);
    front.serve.process().wait_stderr(&["the TLS certificate was read again"], LIMIT);
    front.client(&front.tunnel()).assert_echo("a", "echo", "{}");
}
