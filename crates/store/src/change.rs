//! Changes that are made together or not at all, with the audit records that tell of them.

use crate::audit::{self, AuditAppend, AuditKey, NewAudit};
use crate::error::StoreError;
use crate::records::{CredentialRecord, GrantRecord, KeyRecord, PinsRecord, ServerRecord};
use crate::records::{PolicyRecord, SkillRecord, ToolSkillsRecord};
use crate::records::{credential, grant, key, pins, policy, server, setting, skill};
use crate::session::{PlannedStatement, Session};

#[derive(Debug, Clone)]
pub enum Change {
    /// Conflict if the name is taken. Its revision becomes 1.
    InsertServer(ServerRecord),
    /// Stale if it has another revision than this; Conflict if the name is taken.
    UpdateServer {
        record: ServerRecord,
        expected: i64,
    },
    /// With its credentials, grants, tools and samples.
    DeleteServer {
        id: String,
        expected: Option<i64>,
    },
    /// In the place of the owner's credential of that name, if there is one.
    PutCredential(CredentialRecord),
    DeleteCredential {
        owner: String,
        name: String,
    },
    /// Conflict if the prefix is taken.
    InsertKey(KeyRecord),
    RevokeKey {
        id: String,
        at: i64,
    },
    /// What the key may have from now on; none: the defaults.
    LimitKey {
        id: String,
        limits: Option<String>,
    },
    /// Stale if it has another revision than this, or if there is one and none was expected.
    PutGrant {
        record: GrantRecord,
        expected: Option<i64>,
    },
    DeleteGrant {
        server_id: String,
        issuer: String,
        principal: String,
    },
    PutSetting {
        name: String,
        value: Vec<u8>,
    },
    /// Stale if it has another revision than this, or if there is one and none was expected.
    PutPins {
        record: PinsRecord,
        expected: Option<i64>,
    },
    /// New, or in the place of the one with this id. Stale if the set of policies has another revision.
    PutPolicy {
        record: PolicyRecord,
        expected: i64,
    },
    /// Stale if the set of policies has another revision.
    DeletePolicy {
        id: String,
        expected: i64,
    },
    PutSkill(SkillRecord),
    PutToolSkills(ToolSkillsRecord),
    DeleteToolSkills {
        server_id: String,
        name: String,
    },
    /// Stale if somebody has decided on it before.
    DecideSuggestion {
        id: String,
        state: String,
        at: i64,
        by: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The number of the last audit record that was appended; 0 if there was none.
    pub last_audit: i64,
}

/// Makes the changes, appends the records, and ends the transaction.
pub(crate) async fn commit(
    session: &mut Session,
    changes: Vec<Change>,
    audit: Vec<NewAudit>,
    keys: &[AuditKey],
) -> Result<Committed, StoreError> {
    let is_change = !changes.is_empty();
    let mut planned = Vec::new();
    for change in changes {
        match change {
            // These ask nothing first: they go together, in the trip of whatever follows.
            Change::InsertServer(record) => planned.push(server::insert(record)),
            Change::PutCredential(record) => planned.push(credential::put(record)),
            other => {
                session.make(std::mem::take(&mut planned)).await?;
                apply(session, other).await?;
            }
        }
    }
    if is_change {
        let plan = |statement| PlannedStatement { statement, nothing: None };
        planned.extend(session.tell_statements().into_iter().map(plan));
    }
    let append = AuditAppend { first: planned, records: audit, mark: None };
    let last_audit = audit::append(session, append, keys).await?;
    Ok(Committed { last_audit })
}

async fn apply(session: &mut Session, change: Change) -> Result<(), StoreError> {
    match change {
        Change::InsertServer(record) => session.make(vec![server::insert(record)]).await,
        Change::UpdateServer { record, expected } => {
            server::update(session, record, expected).await
        }
        Change::DeleteServer { id, expected } => server::delete(session, &id, expected).await,
        Change::PutCredential(record) => session.make(vec![credential::put(record)]).await,
        Change::DeleteCredential { owner, name } => {
            credential::delete(session, &owner, &name).await
        }
        Change::InsertKey(record) => key::insert(session, record).await,
        Change::RevokeKey { id, at } => key::revoke(session, &id, at).await,
        Change::LimitKey { id, limits } => key::limit(session, &id, limits).await,
        Change::PutGrant { record, expected } => grant::put(session, record, expected).await,
        Change::DeleteGrant { server_id, issuer, principal } => {
            grant::delete(session, &server_id, &issuer, &principal).await
        }
        Change::PutSetting { name, value } => setting::put(session, &name, value).await,
        Change::PutPins { record, expected } => pins::put(session, record, expected).await,
        Change::PutPolicy { record, expected } => policy::put(session, record, expected).await,
        Change::DeletePolicy { id, expected } => policy::delete(session, &id, expected).await,
        Change::PutSkill(record) => skill::put(session, record).await,
        Change::PutToolSkills(record) => skill::put_of_tools(session, vec![record]).await,
        Change::DeleteToolSkills { server_id, name } => {
            skill::forget_tool(session, &server_id, &name).await
        }
        Change::DecideSuggestion { id, state, at, by } => {
            skill::decide(session, &id, &state, at, &by).await
        }
    }
}
