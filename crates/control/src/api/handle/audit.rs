//! `GET /audit`: the log, filtered, in pages, newest first.

use serde_json::{Value, json};
use trunkline_store::{AuditFilter, AuditRecord, Store, StoreError, TextMatch};

use crate::api::answer::ApiResponse;
use crate::api::paging::{self, List, Page, cursor};
use crate::api::problem::Problem;
use crate::api::query::Query;
use crate::api::request::ApiRequest;
use crate::api::time;
use crate::api::view::AuditView;
use crate::services::store_problem;

pub(super) async fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (query, place) = paging::query(asked.route, asked.raw_query(), List::AUDIT)?;
    let records = page(asked.plane.store(), &query, &place).await;
    let records = records.map_err(|error| store_problem(&error))?;
    Ok(ApiResponse::json(200, &records))
}

async fn page(store: &Store, query: &Query, page: &Page) -> Result<Value, StoreError> {
    // One more than asked for says whether there is another page; the store's pages have a limit.
    let asked = page.limit.saturating_add(1);
    let mut found = store.audit(filter(query, page), asked).await?;
    let full = found.len() >= asked.min(STORE_PAGE);
    found.truncate(page.limit);
    let last = found.last().filter(|record| full && record.seq > 1);
    let next = last.map(|record| cursor(List::AUDIT, &record.seq.to_string()));
    let records: Vec<Value> = found.iter().map(shown).collect();
    Ok(json!({"records": records, "next_cursor": next}))
}

/// As many as the store gives at once, whatever is asked for.
const STORE_PAGE: usize = 1_000;

/// What was asked for, in the store's words. The query is one that `api::query` has checked.
fn filter(query: &Query, page: &Page) -> AuditFilter {
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

/// A record as REST and exports show it.
pub fn shown(record: &AuditRecord) -> Value {
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
        count: what.count,
        hash: &hash,
    };
    view.json()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes;
    use crate::api::view::AuditList;
    use crate::scratch::Folder;
    use trunkline_store::NewAudit;

    async fn filled(store: &Store, count: i64) {
        let record = |number: i64| NewAudit {
            at: number * 1_000,
            principal: if number % 2 == 0 { "even" } else { "odd" }.to_owned(),
            action: number.to_string(),
            outcome: "ok".to_owned(),
            ..NewAudit::default()
        };
        store.append_audit((0..count).map(record).collect()).await.unwrap();
    }

    #[tokio::test]
    async fn pages_follow_each_other_without_gaps_and_filters_hold() {
        let folder = Folder::new();
        let store = folder.store().await;
        filled(&store, 10).await;
        let route = routes::all().find(|route| route.id == "listAudit").unwrap();
        for (asked, expected) in [
            ("limit=3", &["9", "8", "7", "6", "5", "4", "3", "2", "1", "0"][..]),
            ("limit=10", &["9", "8", "7", "6", "5", "4", "3", "2", "1", "0"]),
            ("limit=2&principal=odd", &["9", "7", "5", "3", "1"]),
            ("since=1970-01-01T00:00:02Z&until=1970-01-01T00:00:04Z", &["3", "2"]),
            ("action=4", &["4"]),
            ("outcome=failed", &[]),
        ] {
            let (mut seen, mut cursor) = (Vec::new(), String::new());
            loop {
                let raw = format!("{asked}{cursor}");
                let (query, place) = paging::query(route, &raw, List::AUDIT).unwrap();
                let found = page(&store, &query, &place).await.unwrap();
                crate::api::view::tests::assert_fits(&found.to_string(), &AuditList::SCHEMA);
                let records = found["records"].as_array().unwrap();
                seen.extend(records.iter().map(|r| r["action"].as_str().unwrap().to_owned()));
                let Some(next) = found["next_cursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(seen, expected, "{asked}");
        }
    }
}
