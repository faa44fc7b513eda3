//! Files that are of no use: the start says which, and what to do.

use kit::certificates::Authority;
use kit::room::Room;
use kit::run::run;

use super::{furnish, shown, text};

#[test]
fn wrong_files_end_the_start_with_their_names() {
    let room = Room::new();
    furnish(&room);
    let authority = Authority::new();
    let good = authority.server().files(&room, "good");
    let other = authority.server().files(&room, "other");
    let expired = authority.expired_server().files(&room, "expired");
    room.write("empty.pem", "");
    room.write("broken.pem", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");
    let [empty, broken, missing] =
        ["empty.pem", "broken.pem", "missing.pem"].map(|name| room.path(name));
    let good_flags = shown(&good);
    for (certificate, key, more, parts) in [
        (&missing, &good.key, None, &["missing.pem", "No such file"][..]),
        (&good.certificate, &missing, None, &["missing.pem", "No such file"]),
        (&empty, &good.key, None, &["empty.pem: no certificate is in it", "PEM"]),
        (&good.certificate, &empty, None, &["empty.pem: no private key is in it"]),
        (&broken, &good.key, None, &["broken.pem", "not PEM"]),
        (&good.key, &good.key, None, &["no certificate is in it"]),
        (&good.certificate, &other.key, None, &["other.key.pem is not the key of", "good.pem"]),
        (&expired.certificate, &expired.key, None, &["expired.pem", "has expired on", "renew"]),
        (&good.certificate, &good.key, Some(&empty), &["empty.pem: no certificate is in it"]),
    ] {
        let mut flags = vec!["--tls-cert", text(certificate), "--tls-key", text(key)];
        flags.extend(more.map(|file| ["--tls-client-ca", text(file)]).into_iter().flatten());
        run(room.serve_command(&flags), b"").bad(2, parts);
    }
    for (flags, part) in [
        (&good_flags[..2], "--tls-key"),
        (&good_flags[2..], "--tls-cert"),
        (&["--tls-client-ca", "x"][..], "--tls-cert"),
        (&["--redirect-http", "0"][..], "--tls-cert"),
    ] {
        run(room.serve_command(flags), b"").bad(2, &[part]);
    }
}

#[test]
fn the_start_names_the_address_as_https() {
    let front = super::Encrypted::start(&[]);
    let said = front.serve.process().stderr();
    assert!(said.contains(&format!("listening on https://{}", front.address())), "{said}");
}

#[test]
fn doctor_knows_a_trunkline_that_speaks_tls() {
    let front = super::Encrypted::start(&["--token", "a-long-token-of-the-tests"]);
    let mut command = std::process::Command::new(kit::bin::trunkline());
    command.args(["doctor", "--json", "--listen", &front.address().to_string()]);
    command.env("HOME", front.room.path("")).current_dir(front.room.path(""));
    let told = run(command, b"");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("a Trunkline is running there, over https"), "{told}");
}
