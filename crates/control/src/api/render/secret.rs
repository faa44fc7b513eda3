//! Named secrets, without their values.

use serde_json::{Value, json};

use crate::api::paging::{List, cursor};
use crate::api::view::SecretView;
use crate::services::{Paged, SecretSummary};

pub(crate) fn secret(summary: &SecretSummary) -> Value {
    SecretView { secret: &summary.secret, used_by: summary.used_by.as_deref() }.json()
}

pub(crate) fn secrets(page: &Paged<SecretSummary>) -> Value {
    let shown: Vec<Value> = page.items.iter().map(secret).collect();
    let next = page.next.as_deref().map(|place| cursor(List::SECRETS, place));
    json!({"secrets": shown, "total": page.total, "next_cursor": next})
}
