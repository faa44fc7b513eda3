//! `ConnectionOpener`: how a registered server is reached, with its secrets. They are opened here and nowhere
//! else.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use trunkline_catalog::config::{ServerSpec, Transport};
use trunkline_store::{CredentialRecord, ServerRecord, Store, StoreError};

use super::problems::{no_such_server, secret_problem, store_problem};
use super::settings::Settings;
use crate::fault::{Pointer, Problem};
use crate::secrets::{self, Connection, Resolved, Safe, SecretError, Sources};

#[derive(Debug, Clone)]
pub(super) struct ConnectionOpener {
    pub(super) store: Store,
    pub(super) safe: Arc<Safe>,
    pub(super) settings: Arc<Settings>,
}

impl ConnectionOpener {
    /// With every reference resolved; and the named secrets it refers to.
    pub(super) async fn resolved(
        &self,
        record: &ServerRecord,
    ) -> Result<(Resolved, BTreeSet<String>), NoConnection> {
        // Read for each connection and kept nowhere: secrets live in memory only as long as the
        // process that needs them.
        let credentials = self.store.credentials(&record.id).await.map_err(NoConnection::NotNow)?;
        let connection = self.safe.open(record, &credentials)?;
        // Only the secrets that it refers to are opened.
        let names = secrets::secrets_named(&connection);
        let named = self.safe.values_of(&self.store, &names).await?;
        let sources = Sources {
            environment: &*self.settings.registration.variable,
            allowed: &self.settings.registration.allowed_variables,
            named: &named,
        };
        let resolved = secrets::resolve(&connection, sources).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            NoConnection::Never(faults.join("; "))
        })?;
        Ok((resolved, names))
    }

    /// As it was given, references as they were written; and its sealed values. The record and the values
    /// are read one after the other: if the record has changed in between, they do not fit.
    pub(super) async fn unresolved(
        &self,
        record: &ServerRecord,
    ) -> Result<(Connection, Vec<CredentialRecord>), Problem> {
        let credentials = self.store.credentials(&record.id).await;
        let credentials = credentials.map_err(|error| store_problem(&error))?;
        let error = match self.safe.open(record, &credentials) {
            Ok(opened) => return Ok((opened, credentials)),
            Err(error) => error,
        };
        // Looked up only after the failure: almost always record and values fit, and that costs no
        // second query.
        match self.store.server(&record.id).await {
            Err(StoreError::NotFound) => Err(no_such_server(&record.id)),
            Ok(now) if now.revision != record.revision => Err(store_problem(&StoreError::Stale)),
            _ => Err(connection_problem(&error)),
        }
    }
}

pub(super) fn connection_problem(error: &SecretError) -> Problem {
    secret_problem(error, &Pointer::root().key("connection_config"))
}

/// Why a server cannot be connected.
#[derive(Debug)]
pub(super) enum NoConnection {
    /// The store does not answer at the moment.
    NotNow(StoreError),
    /// Not before something is changed.
    Never(String),
}

impl Display for NoConnection {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNow(error) => error.fmt(out),
            Self::Never(why) => why.fmt(out),
        }
    }
}

impl From<SecretError> for NoConnection {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Store(error) => Self::NotNow(error),
            error => Self::Never(error.to_string()),
        }
    }
}

/// Names the login of each server of the config file that may want one.
pub fn with_logins(servers: Vec<ServerSpec>) -> Vec<ServerSpec> {
    let named = |spec: ServerSpec| {
        let login = may_log_in(&spec.transport).then(|| spec.id.clone());
        ServerSpec { login, ..spec }
    };
    servers.into_iter().map(named).collect()
}

/// A remote server that is given no `Authorization` header.
pub(super) fn may_log_in(transport: &Transport) -> bool {
    match transport {
        Transport::Stdio { .. } => false,
        Transport::Remote { headers, .. } => {
            // Header names are compared without case (RFC 9110, 5.1).
            !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        }
    }
}
