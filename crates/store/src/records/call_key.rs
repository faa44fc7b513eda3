//! Idempotency keys: which call each stands for, which replica runs it, and what it was answered. Times are those of
//! the database's clock.

use crate::error::StoreError;
use crate::session::{PlannedStatement, Session, Statement};
use crate::value::{Row, Value};

/// A call that has a key, in digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallKey {
    /// Of the caller, the tool and the key.
    pub id: String,
    /// Of what it is called with.
    pub request: String,
    /// Of what its server was told that has asked something; empty for the first round.
    pub round: String,
}

/// Who asks for a key, and how long keys and replicas last, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyClaimant {
    pub replica: String,
    /// Tells this time that a key is taken from all others.
    pub number: i64,
    /// Keys older than this are free again.
    pub kept: i64,
    /// Replicas that were not heard of for so long have gone.
    pub alive: i64,
    /// Rounds of one call that are remembered; the oldest go first.
    pub rounds: usize,
}

/// What a key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKeyState {
    /// It is the claimant's now; the rounds it goes on from, if its server has asked something.
    Taken {
        before: Option<String>,
    },
    Running,
    OtherCall,
    /// What it was answered.
    Answered {
        code: i64,
        sealed: Vec<u8>,
    },
    NotKept,
    Unknown,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKeyOutcome {
    /// The key is free again, or at the question that was asked before.
    NotRun {
        before: Option<String>,
    },
    Answered {
        code: i64,
        sealed: Vec<u8>,
    },
    Asked {
        code: i64,
        sealed: Vec<u8>,
    },
    NotKept,
    Unknown,
}

const RUNNING: &str = "running";
const ASKED: &str = "asked";
const ANSWERED: &str = "answered";
const NOT_KEPT: &str = "not-kept";
const UNKNOWN: &str = "unknown";
/// In the column `round`, which has all rounds that are remembered.
const BETWEEN_ROUNDS: &str = " ";

fn clock(session: &Session) -> &'static str {
    match session {
        Session::Sqlite(_) => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
        Session::Postgres(_) => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    }
}

/// Takes the key, or says what it stands for. Of several who ask at once one gets it: the others wait for its row.
pub(crate) async fn claim(
    session: &mut Session,
    call: CallKey,
    by: KeyClaimant,
) -> Result<CallKeyState, StoreError> {
    let now = clock(session);
    // One that is too old is nobody's any more, whatever became of it.
    let sql = format!(
        "INSERT INTO call_keys (id, request, round, state, replica, taken, code, made_at) \
         VALUES ($1, $2, $3, '{RUNNING}', $4, $6, 0, {now}) \
         ON CONFLICT (id) DO UPDATE SET request = excluded.request, round = excluded.round, \
         state = excluded.state, replica = excluded.replica, taken = excluded.taken, code = 0, answer = NULL, \
         made_at = excluded.made_at WHERE call_keys.made_at < excluded.made_at - $5"
    );
    let CallKey { id, request, round } = call;
    let KeyClaimant { replica, number, kept, alive, rounds } = by;
    let values = vec![
        id.clone().into(),
        request.clone().into(),
        round.clone().into(),
        replica.clone().into(),
        kept.into(),
        number.into(),
    ];
    if session.execute(&sql, values).await? > 0 {
        return Ok(CallKeyState::Taken { before: None });
    }
    let sql = format!(
        "SELECT request, round, state, replica, code, \
         (SELECT COUNT(*) FROM replicas WHERE replicas.id = call_keys.replica AND seen_at >= {now} - $2), \
         answer FROM call_keys WHERE id = $1"
    );
    let Some(row) = session.row(&sql, vec![id.clone().into(), alive.into()]).await? else {
        // It was given back at this very moment: whoever asks again gets it.
        return Ok(CallKeyState::Running);
    };
    let known = read(row)?;
    if known.request != request {
        return Ok(CallKeyState::OtherCall);
    }
    match known.state.as_str() {
        RUNNING if known.replica == replica || known.is_alive => Ok(CallKeyState::Running),
        RUNNING | UNKNOWN => Ok(CallKeyState::Unknown),
        // What it was told before, it is not told again: it is asked what is open.
        ASKED if !was_told(&known.rounds, &round) => {
            let by = (replica.as_str(), number);
            let next = (known.rounds.clone(), and_told(&known.rounds, &round, rounds));
            next_round(session, id, next, by).await
        }
        ASKED | ANSWERED => Ok(match known.answer {
            Some(sealed) => CallKeyState::Answered { code: known.code, sealed },
            None => CallKeyState::NotKept,
        }),
        _ => Ok(CallKeyState::NotKept),
    }
}

/// Its server was told what it has asked. The question stays, in case the call cannot go on.
async fn next_round(
    session: &mut Session,
    id: String,
    (before, rounds): (String, String),
    (replica, number): (&str, i64),
) -> Result<CallKeyState, StoreError> {
    let sql = format!(
        "UPDATE call_keys SET state = '{RUNNING}', round = $2, replica = $3, taken = $5 \
         WHERE id = $1 AND state = '{ASKED}' AND round = $4"
    );
    let values =
        vec![id.into(), rounds.into(), replica.into(), before.clone().into(), number.into()];
    Ok(match session.execute(&sql, values).await? {
        0 => CallKeyState::Running,
        _ => CallKeyState::Taken { before: Some(before) },
    })
}

/// Was the server told this in one of these rounds? The first call is in all: it begins once.
fn was_told(rounds: &str, round: &str) -> bool {
    round.is_empty() || rounds.split(BETWEEN_ROUNDS).any(|told| told == round)
}

/// These rounds and one more; the last so many of them.
fn and_told(rounds: &str, round: &str, most: usize) -> String {
    let earlier = rounds.split(BETWEEN_ROUNDS).filter(|told| !told.is_empty());
    let all: Vec<&str> = earlier.chain([round]).collect();
    let first = all.len().saturating_sub(most);
    all.into_iter().skip(first).collect::<Vec<_>>().join(BETWEEN_ROUNDS)
}

struct KnownCall {
    request: String,
    /// What its server was told in each round, the oldest first; empty in the first round.
    rounds: String,
    state: String,
    replica: String,
    code: i64,
    is_alive: bool,
    answer: Option<Vec<u8>>,
}

fn read(mut row: Row) -> Result<KnownCall, StoreError> {
    Ok(KnownCall {
        request: row.text()?,
        rounds: row.text()?,
        state: row.text()?,
        replica: row.text()?,
        code: row.int()?,
        is_alive: row.flag()?,
        answer: row.maybe_bytes()?,
    })
}

/// A call that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedCall {
    pub id: String,
    /// As it was taken.
    pub number: i64,
    pub outcome: CallKeyOutcome,
}

/// How calls ended. What is said of one that has its key no more changes nothing.
pub(crate) async fn settle(session: &mut Session, ended: Vec<EndedCall>) -> Result<(), StoreError> {
    let plan = |call| PlannedStatement { statement: ending(call), nothing: None };
    session.make(ended.into_iter().map(plan).collect()).await
}

fn ending(EndedCall { id, number, outcome }: EndedCall) -> Statement {
    let its = format!("WHERE id = $1 AND taken = $2 AND state = '{RUNNING}'");
    let (id, number): (Value, Value) = (id.into(), number.into());
    let answered = |state: &str, code: i64, sealed: Vec<u8>| {
        let sql = format!("UPDATE call_keys SET state = '{state}', code = $3, answer = $4 {its}");
        Statement::new(sql, vec![id.clone(), number.clone(), code.into(), sealed.into()])
    };
    let ended = |state: &str| {
        let sql = format!("UPDATE call_keys SET state = '{state}', answer = NULL {its}");
        Statement::new(sql, vec![id.clone(), number.clone()])
    };
    match outcome {
        CallKeyOutcome::NotRun { before: None } => {
            Statement::new(format!("DELETE FROM call_keys {its}"), vec![id, number])
        }
        CallKeyOutcome::NotRun { before: Some(before) } => {
            let sql = format!("UPDATE call_keys SET state = '{ASKED}', round = $3 {its}");
            Statement::new(sql, vec![id, number, before.into()])
        }
        CallKeyOutcome::Answered { code, sealed } => answered(ANSWERED, code, sealed),
        CallKeyOutcome::Asked { code, sealed } => answered(ASKED, code, sealed),
        CallKeyOutcome::NotKept => ended(NOT_KEPT),
        CallKeyOutcome::Unknown => ended(UNKNOWN),
    }
}

/// Forgets keys older than so many milliseconds, and of answers beyond so many bytes the oldest.
pub(crate) async fn prune(
    session: &mut Session,
    kept: i64,
    most_bytes: i64,
) -> Result<(), StoreError> {
    let now = clock(session);
    let old = format!("DELETE FROM call_keys WHERE made_at < {now} - $1");
    session.execute(&old, vec![kept.into()]).await?;
    let large = format!(
        "UPDATE call_keys SET state = '{NOT_KEPT}', answer = NULL WHERE state <> '{RUNNING}' AND id IN \
         (SELECT id FROM (SELECT id, SUM(LENGTH(answer)) OVER (ORDER BY made_at DESC, id) AS bytes \
         FROM call_keys WHERE answer IS NOT NULL) AS summed WHERE bytes > $1)"
    );
    session.execute(&large, vec![most_bytes.into()]).await?;
    Ok(())
}
