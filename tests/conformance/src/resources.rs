//! The fixture's resources.

use serde_json::{Value, json};

use crate::listing::PNG;

/// The result of `resources/read`; `None` for a resource that does not exist.
pub(crate) fn read(uri: &str) -> Option<Value> {
    let content = match uri {
        "test://static-text" => {
            text(uri, "text/plain", "This is the content of the static text resource.")
        }
        "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        "test://watched-resource" => text(uri, "text/plain", "Watched resource content."),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = format!("Data for ID: {id}");
            let data = json!({ "id": id, "templateTest": true, "data": data });
            text(uri, "application/json", &data.to_string())
        }
    };
    Some(json!({ "contents": [content] }))
}

fn text(uri: &str, mime: &str, text: &str) -> Value {
    json!({ "uri": uri, "mimeType": mime, "text": text })
}
