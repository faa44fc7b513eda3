//! The audit log as the API shows it: filtered, in pages, newest first.

use serde_json::{Value, json};
use trunkline_store::{AuditFilter, AuditRecord, Store, StoreError, TextMatch};

use crate::api::paging::{List, Page, cursor};
use crate::api::query::Query;
use crate::api::time;
use crate::api::view::AuditView;

/// The JSON of `GET /audit`.
pub async fn page(store: &Store, query: &Query, page: &Page) -> Result<Value, StoreError> {
    // One more than asked for says whether there is another page; the store's pages have a limit.
    let asked = page.limit.saturating_add(1);
    let mut found = store.audit(filter(query, page), asked).await?;
    let full = found.len() >= asked.min(STORE_PAGE);
    found.truncate(page.limit);
    let last = found.last().filter(|record| full && record.seq > 1);
    let next = last.map(|record| cursor(List::Audit, &record.seq.to_string()));
    let records: Vec<Value> = found.iter().map(shown).collect();
    Ok(json!({"records": records, "next_cursor": next}))
}

/// As many as the store gives at once, whatever is asked for.
const STORE_PAGE: usize = 1_000;

/// What was asked for, in the store's words. The query is one that `api::query` has checked.
pub fn filter(query: &Query, page: &Page) -> AuditFilter {
    let text = |name| query.text(name).map(str::to_owned);
    let moment = |name| query.text(name).and_then(time::parse);
    let after = page.after.as_deref().and_then(|seq| seq.parse::<i64>().ok());
    AuditFilter {
        since_seq: None,
        until_seq: after.map(|seq| seq.saturating_sub(1)),
        since: moment("since"),
        until: moment("until"),
        server: text("server"),
        tool: text("tool"),
        action: text("action"),
        outcome: text("outcome"),
        principal: text("principal"),
        match_mode: match query.text("match") {
            Some("contains") => TextMatch::Contains,
            _ => TextMatch::Exact,
        },
    }
}

fn shown(record: &AuditRecord) -> Value {
    let what = &record.what;
    let hash: String = record.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let view = AuditView {
        seq: record.seq,
        at: what.at,
        principal: &what.principal,
        credential_id: what.credential_id.as_deref(),
        address: what.address.as_deref(),
        action: &what.action,
        server_id: what.server_id.as_deref(),
        server_name: what.server_name.as_deref(),
        tool: what.tool.as_deref(),
        argument_hash: what.argument_hash.as_deref(),
        outcome: &what.outcome,
        detail: what.detail.as_deref(),
        duration_us: what.duration_us,
        request_id: what.request_id.as_deref(),
        hash: &hash,
    };
    view.json()
}
