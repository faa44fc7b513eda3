//! Keys, and servers to keep.

use trunkline_catalog::config::{CallRules, RemoteKind, Transport};
use trunkline_store::seal::{Keyring, SealKey};
use trunkline_store::{DesiredState, ServerRecord, Store};

use crate::secrets::{Connection, Safe, SealedConnection};

pub(super) fn key(byte: u8) -> SealKey {
    SealKey::new([byte; 32])
}

pub(super) async fn safe(store: &Store, byte: u8) -> Safe {
    Safe::unlock(store, Keyring::new(key(byte))).await.unwrap()
}

pub(super) fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn remote(url: &str, headers: &[(&str, &str)]) -> Connection {
    of(Transport::Remote {
        url: url.to_owned(),
        kind: RemoteKind::Sse,
        headers: pairs(headers),
        network: Default::default(),
    })
}

pub(super) fn stdio(args: &[&str], env: &[(&str, &str)]) -> Connection {
    of(Transport::Stdio {
        command: "npx".to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: pairs(env),
        cwd: Some("/srv".to_owned()),
    })
}

fn of(transport: Transport) -> Connection {
    Connection {
        transport,
        health_check_url: None,
        calls: CallRules::default(),
        on_change: None,
        oauth: None,
        sandbox: None,
    }
}

pub(super) fn record(id: &str, kept: &SealedConnection) -> ServerRecord {
    ServerRecord {
        id: id.to_owned(),
        name: format!("name-{id}"),
        description: String::new(),
        transport: kept.transport,
        config: kept.config.clone(),
        auto_connect: true,
        wanted: DesiredState::Connected,
        health_check_url: kept.health_check_url.clone(),
        created_at: 1,
        updated_at: 1,
        revision: 1,
    }
}
