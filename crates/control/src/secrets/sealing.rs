//! From a connection to what is kept of it (open JSON and sealed credentials), and back.

use trunkline_catalog::config::{RemoteKind, Transport};
use trunkline_store::{Change, CredentialRecord, ServerRecord, Transport as Kind};

use super::connection::{Connection, ConnectionPart};
use super::error::{LINE_END, NUL, SecretError};
use super::mask::{SECRET_SHOWN, shown_url};
use super::safe::Safe;

/// What of a connection goes into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedConnection {
    pub transport: Kind,
    /// For `ServerRecord::config`.
    pub config: String,
    /// For `ServerRecord::health_check_url`; the values of its query are sealed.
    pub health_check_url: Option<String>,
    pub credentials: Vec<CredentialRecord>,
}

impl Safe {
    pub fn seal(
        &self,
        server_id: &str,
        connection: &Connection,
        at: i64,
    ) -> Result<SealedConnection, SecretError> {
        let mut credentials = Vec::new();
        for (part, name, value) in connection.values() {
            let said = part.said(name);
            // Checked before sealing: a value that cannot be sent would fail at every connect.
            if let Some(why) = unkeepable(part, value) {
                return Err(SecretError::Unkeepable { what: said, why });
            }
            // The mask came back: sealing it would overwrite the value it hides.
            if is_hidden(part, value) {
                return Err(SecretError::Unkeepable { what: said, why: "`***` is not its value" });
            }
            let slot = slot(part, name);
            credentials.push(self.credential(server_id, &slot, part.kind(), value, at)?);
        }
        Ok(SealedConnection {
            transport: kind(&connection.transport),
            config: connection.public(),
            health_check_url: connection.health_check_url.as_deref().map(shown_url),
            credentials,
        })
    }

    /// As it was given. `credentials` are those of the server.
    pub fn open(
        &self,
        server: &ServerRecord,
        credentials: &[CredentialRecord],
    ) -> Result<Connection, SecretError> {
        let mut connection = shown(server)?;
        for credential in credentials {
            let Some((part, name)) = place(&credential.name) else { continue };
            let said = part.said(name);
            let value = self.value(&server.id, credential, &said)?;
            // One without a place is left from before a change that another replica made.
            connection.put(part, name, value.to_string());
        }
        match connection.values().into_iter().find(|(part, _, value)| is_hidden(*part, value)) {
            Some((part, name, _)) => Err(SecretError::Unusable {
                what: part.said(name),
                why: "its value is gone from the store".to_owned(),
            }),
            None => Ok(connection),
        }
    }
}

impl SealedConnection {
    /// To be made together with the change of the server. `before` are the credentials it had:
    /// those it no longer has are removed.
    pub fn changes(&self, before: &[CredentialRecord]) -> Vec<Change> {
        let stays = |old: &&CredentialRecord| {
            place(&old.name).is_none() || self.credentials.iter().any(|new| new.name == old.name)
        };
        let gone = before.iter().filter(|old| !stays(old)).map(|old| Change::DeleteCredential {
            owner: old.owner.clone(),
            name: old.name.clone(),
        });
        let put = self.credentials.iter().cloned().map(Change::PutCredential);
        gone.chain(put).collect()
    }
}

/// A server's connection as it may be shown, without any key: `***` for every value.
pub fn shown(server: &ServerRecord) -> Result<Connection, SecretError> {
    Connection::from_public(&server.config, server.health_check_url.as_deref())
}

/// The name of the credential.
fn slot(part: ConnectionPart, name: &str) -> String {
    match part {
        ConnectionPart::Header | ConnectionPart::Variable => format!("{}:{name}", part.kind()),
        ConnectionPart::Url | ConnectionPart::HealthCheckUrl | ConnectionPart::ClientSecret => {
            part.kind().to_owned()
        }
    }
}

/// The way back. Others of the server's credentials are none of ours.
fn place(slot: &str) -> Option<(ConnectionPart, &str)> {
    let (kind, name) = slot.split_once(':').unwrap_or((slot, ""));
    let part = ConnectionPart::ALL.into_iter().find(|part| part.kind() == kind)?;
    (self::slot(part, name) == slot).then_some((part, name))
}

/// A variable may have several lines (a PEM key); a header that has would be two.
fn unkeepable(part: ConnectionPart, value: &str) -> Option<&'static str> {
    match part {
        ConnectionPart::Variable => value.contains('\0').then_some(NUL),
        ConnectionPart::Header
        | ConnectionPart::Url
        | ConnectionPart::HealthCheckUrl
        | ConnectionPart::ClientSecret => value.contains(['\r', '\n', '\0']).then_some(LINE_END),
    }
}

fn is_hidden(part: ConnectionPart, value: &str) -> bool {
    match part {
        ConnectionPart::Header | ConnectionPart::Variable | ConnectionPart::ClientSecret => {
            value == SECRET_SHOWN
        }
        ConnectionPart::Url | ConnectionPart::HealthCheckUrl => shown_url(value) == value,
    }
}

fn kind(transport: &Transport) -> Kind {
    match transport {
        Transport::Stdio { .. } => Kind::Stdio,
        Transport::Remote { kind: RemoteKind::Sse, .. } => Kind::Sse,
        Transport::Remote { .. } => Kind::Http,
    }
}
