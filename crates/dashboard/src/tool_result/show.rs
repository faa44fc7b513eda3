//! The parts as HTML, and the answer as it came.

use maud::{Markup, html};
use trunkline_control::figures::{millis, plural};
use trunkline_wire::{decode, is_json, member, pretty};

use super::{Part, ToolResult, read};

/// Of one text or structure, in characters.
const MOST_TEXT: usize = 50_000;
/// Of everything together; what comes behind it is named and not shown.
const MOST_TOGETHER: usize = 100_000;

/// Of a structure, in bytes.
const LONGEST_LAID_OUT: usize = 1_000_000;

/// What came of a call.
pub(crate) fn show(answer: &ToolResult) -> Markup {
    let body = &answer.body;
    let is_error = member(body, "isError") == Some(b"true");
    html! {
        section.card.outcome #outcome autofocus tabindex="-1" aria-labelledby="outcome-title" {
            h2 #outcome-title {
                "Result "
                @match (answer.status, is_error) {
                    (200, false) => span.badge.dot.good { "Done" },
                    (200, true) => span.badge.dot.bad { "The tool says it failed" },
                    (status, _) => span.badge.dot.bad { "Not done (" (status) ")" },
                }
            }
            @if answer.status == 200 { (result(body)) } @else { (problem(body)) }
            details.raw {
                summary { "The answer as it came" }
                (structure(&String::from_utf8_lossy(body), MOST_TEXT))
            }
        }
    }
}

fn result(body: &[u8]) -> Markup {
    let parts = read(body);
    let mut left = MOST_TOGETHER;
    html! {
        @if let Some(took) = took(body) { p.dim { (took) } }
        @if parts.is_empty() { p.dim { "The tool has answered with nothing to show." } }
        @for part in &parts { (one(part, &mut left)) }
    }
}

fn one(part: &Part, left: &mut usize) -> Markup {
    let most = MOST_TEXT.min(*left);
    let length = match part {
        Part::Text(text) | Part::Structure(text) => text.len(),
        Part::Picture(_) | Part::Other { .. } => 0,
    };
    *left = left.saturating_sub(length);
    match part {
        Part::Text(text) if is_structure(text) => html! {
            (text_block(&pretty(text.as_bytes()), most, "json"))
        },
        Part::Text(text) => text_block(text, most, "text"),
        Part::Structure(json) => html! { h3 { "Structured" } (structure(json, most)) },
        Part::Picture(picture) => html! {
            img.picture alt="The tool's picture" src={ "data:" (picture.kind) ";base64," (picture.data) };
        },
        Part::Other { what, of } => html! { p { strong { (what) } " " code { (of) } } },
    }
}

/// Servers like to put JSON into text, all on one line.
fn is_structure(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['{', '[']) && text.len() <= MOST_TEXT && is_json(text.as_bytes())
}

/// JSON with a member a line; no token differs. What would be cut anyway is not laid out first.
fn structure(json: &str, most: usize) -> Markup {
    match json.len() <= LONGEST_LAID_OUT && is_json(json.as_bytes()) {
        true => text_block(&pretty(json.as_bytes()), most, "json"),
        false => text_block(json, most, "text"),
    }
}

/// Long lines are wrapped, long texts are cut.
fn text_block(text: &str, most: usize, class: &str) -> Markup {
    let end = text.char_indices().nth(most).map(|(end, _)| end);
    let shown = end.and_then(|end| text.get(..end)).unwrap_or(text);
    html! {
        pre class={ "block " (class) } tabindex="0" { (shown) }
        @if let Some(end) = end {
            @let left = u64::try_from(text.len() - end).unwrap_or(u64::MAX);
            p.dim { "… and " (plural(left, "byte")) " more, which are too long for a page." }
        }
    }
}

fn problem(body: &[u8]) -> Markup {
    let word = |key: &str| member(body, key).and_then(decode).unwrap_or_default().into_owned();
    let error = member(body, "error").map(String::from_utf8_lossy);
    html! {
        p.notice.bad role="alert" { strong { (word("title")) } " " (word("detail")) }
        @let hint = word("hint");
        @if !hint.is_empty() { p.dim { (hint) } }
        @if let Some(error) = &error { h3 { "The server's error" } (structure(error, MOST_TEXT)) }
    }
}

fn took(body: &[u8]) -> Option<String> {
    let ours = ["_trunkline", "metadata"].iter().find_map(|key| member(body, key))?;
    let routed = member(ours, "routed_to").and_then(decode)?;
    let number =
        |key: &str| -> Option<f64> { std::str::from_utf8(member(ours, key)?).ok()?.parse().ok() };
    let (own, theirs) = (number("routing_time_ms")?, number("execution_time_ms")?);
    let [own, theirs] = [own, theirs].map(|time| millis(Some(time)));
    Some(format!("{routed} took {theirs}; Trunkline added {own}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(status: u16, body: &str) -> String {
        show(&ToolResult { status, body: body.as_bytes().to_vec() }).into_string()
    }

    #[test]
    fn whatever_a_tool_says_is_text() {
        let evil = r#"</pre><script>alert(1)</script><img src=x onerror=y>"#;
        for body in [
            format!(r#"{{"content":[{{"type":"text","text":"{evil}"}}]}}"#),
            format!(r#"{{"content":[{{"type":"{evil}"}}],"structuredContent":"{evil}"}}"#),
            format!(r#"{{"content":[{{"type":"resource_link","uri":"{evil}"}}]}}"#),
            evil.to_owned(),
        ] {
            for status in [200, 502] {
                let page = shown(status, &body);
                assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
            }
        }
        let page = shown(502, &format!(r#"{{"detail":"{evil}","error":{{"message":"{evil}"}}}}"#));
        assert!(!page.contains("<script") && page.contains("The server's error"), "{page}");
    }

    #[test]
    fn how_it_went_is_seen_first() {
        for (status, body, part) in [
            (200, r#"{"content":[]}"#, "Done"),
            (200, r#"{"content":[],"isError":true}"#, "The tool says it failed"),
            (404, r#"{"title":"Tool not found"}"#, "Not done (404)"),
            (200, r#"{}"#, "nothing to show"),
            (
                200,
                r#"{"metadata":{"routed_to":"a","routing_time_ms":0.034,"execution_time_ms":12.5}}"#,
                "a took 12 ms; Trunkline added 0.03 ms.",
            ),
            (200, r#"{"structuredContent":{"n":1e400}}"#, "&quot;n&quot;: 1e400"),
            (
                200,
                r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}"#,
                r#"src="data:image/png;base64,AAAA""#,
            ),
        ] {
            let page = shown(status, body);
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn long_and_deep_answers_are_cut() {
        let long = "é<".repeat(2_000_000);
        let page = shown(200, &format!(r#"{{"content":[{{"type":"text","text":"{long}"}}]}}"#));
        assert!(page.len() < 1_000_000, "{}", page.len());
        assert!(page.contains("too long for a page"));
        let deep = format!("{}1{}", "[".repeat(500_000), "]".repeat(500_000));
        let page = shown(200, &format!(r#"{{"structuredContent":{deep}}}"#));
        assert!(page.len() < 1_000_000, "{}", page.len());
        let many = vec![r#"{"type":"text","text":"0123456789"}"#; 50_000].join(",");
        let page = shown(200, &format!(r#"{{"content":[{many}]}}"#));
        assert!(page.len() < 1_000_000, "{}", page.len());
    }
}
