//! Which answers of a server are read by the scanner, and by what rules.

use std::sync::Arc;

use trunkline_catalog::scan::ItemKind;
use trunkline_wire::{Message, Span, decode};

use crate::call::Asker;
use crate::result_scan::ResultSubject;
use crate::upstream::lifecycle::server::Server;

/// What is to be known of a request that goes to this server with these changes, if its answer is scanned.
pub(crate) fn result_subject(
    server: &Server,
    message: &Message<'_>,
    changes: &[(Span, &[u8])],
    asker: Asker<'_>,
) -> Option<Arc<ResultSubject>> {
    let policy = &server.definition.scan;
    let scanner = server.services.results.as_ref().filter(|_| policy.scans_results())?;
    let (kind, span) = match &*message.method() {
        b"tools/call" => (ItemKind::Tool, message.params.name),
        b"prompts/get" => (ItemKind::Prompt, message.params.name),
        b"resources/read" => (ItemKind::Resource, message.params.uri),
        _ => return None,
    };
    let span = span?;
    let changed = changes.iter().find(|(at, _)| *at == span).map(|(_, new)| *new);
    let item = decode(changed.unwrap_or_else(|| span.of(message.bytes))).unwrap_or_default();
    // As the audit log has it: what stands behind may be a secret.
    let item = match kind {
        ItemKind::Resource => item.split('?').next().unwrap_or_default().to_owned(),
        _ => item.into_owned(),
    };
    Some(Arc::new(ResultSubject {
        scanner: Arc::clone(scanner),
        policy: policy.clone(),
        server: server.key.name(),
        id: Arc::clone(server.key.id()),
        who: asker.client.who(),
        kind,
        item,
    }))
}
