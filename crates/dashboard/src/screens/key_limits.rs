//! What a key may have at most: the fields of its limits, and the page that changes them.

use maud::{Markup, html};
use serde_json::{Map, Value};
use trunkline_catalog::config::{CallSetting, LIMIT_SETTINGS};
use trunkline_http::encode;

use super::servers::word;
use crate::api_client::ApiError;
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

const KEYS: &str = "/api/v1/keys";

/// One field for each limit; `text`: what stands in it.
pub(super) fn fields(text: impl Fn(&CallSetting) -> String, trouble: Option<&ApiError>) -> Markup {
    let wrong = |setting: &CallSetting| {
        let at = format!("/limits/{}", setting.name);
        let mistakes = trouble.into_iter().flat_map(|trouble| trouble.mistakes.iter());
        let mistakes: Vec<_> = mistakes.filter(|mistake| mistake.is_at(&at)).collect();
        html! { @for mistake in mistakes { p.mistake { (mistake.message) } } }
    };
    html! {
        @for setting in LIMIT_SETTINGS {
            @let id = format!("limit-{}", setting.name);
            div.field {
                label for=(id) { (setting.label) }
                p.help { (setting.doc) }
                input id=(id) name=(setting.name) inputmode="decimal" value=(text(setting)) autocomplete="off";
                (wrong(setting))
            }
        }
    }
}

/// The limits that a form has, as the API wants them. What is no number is left to the API to refuse.
pub(super) fn written(request: &PageRequest<'_>) -> Map<String, Value> {
    let filled = |setting: &CallSetting| request.form.filled(setting.name).map(str::trim);
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let all = LIMIT_SETTINGS.iter();
    all.filter_map(|it| Some((it.name.to_owned(), value(filled(it)?)))).collect()
}

/// The limits of a key in words; nothing where the defaults hold.
pub(super) fn in_words(limits: &Value) -> Vec<String> {
    let said = LIMIT_SETTINGS.iter().filter_map(|setting| {
        let value = setting.read(&limits[setting.name].as_number()?.to_string())?;
        Some(match value {
            0 => format!("{}: no limit", setting.label),
            value => format!("{}: {}", setting.label, setting.written(value)),
        })
    });
    said.collect()
}

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    page(request, None).await
}

async fn page(request: &PageRequest<'_>, trouble: Option<&ApiError>) -> PageResult {
    let keys = &request.get(&format!("{KEYS}?limit=1000")).await?;
    let mut all = keys["keys"].as_array().into_iter().flatten();
    let key = all.find(|key| key["id"] == request.id()).ok_or_else(ApiError::nothing_here)?;
    let title = format!("Limits of {}", word(key, "name"));
    let trail = [("/clients", "Clients & keys")];
    let shell = Shell { title: &title, here: "/clients", trail: &trail, ..Shell::default() };
    let text = |setting: &CallSetting| match trouble {
        // What was sent stays in the form, so that it can be corrected.
        Some(_) => request.form.get(setting.name).unwrap_or_default().to_owned(),
        None => {
            let number = key["limits"].get(setting.name).and_then(Value::as_number);
            number.map(ToString::to_string).unwrap_or_default()
        }
    };
    let content = html! {
        div.card {
            p { "Leave a field empty for the default of this platform; 0 is no limit. Other limits hold at once." }
            form.form method="post" action={ "/clients/keys/" (encode(request.id())) "/limits" } novalidate {
                (layout::hidden(request))
                @if let Some(trouble) = trouble { p.notice.bad role="alert" { (trouble.sentence()) } }
                (fields(text, trouble))
                div.buttons {
                    button.primary type="submit" { "Save limits" }
                    a.button href="/clients" { "Cancel" }
                }
            }
        }
    };
    let status = trouble.map_or(200, |trouble| trouble.status);
    Ok(layout::framed(request, status, &shell, &content))
}

pub(super) async fn change(request: &PageRequest<'_>) -> PageResult {
    let path = format!("{KEYS}/{}", encode(request.id()));
    let body = Map::from_iter([("limits".to_owned(), Value::Object(written(request)))]);
    match request.send("PATCH", &path, Some(&body.into())).await {
        Ok(_) => {
            request.leave(Notice::Done("Limits saved.".to_owned()));
            Ok(Page::see_other("/clients"))
        }
        Err(trouble) => page(request, Some(&trouble)).await,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_said_in_words() {
        let limits = json!({"calls_per_second": 0.5, "burst": null, "open_calls": 0});
        assert_eq!(in_words(&limits), ["Calls per second: 0.5", "Open calls: no limit"]);
        assert!(in_words(&json!({})).is_empty());
    }
}
