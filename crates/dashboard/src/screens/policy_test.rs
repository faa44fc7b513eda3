//! "Who may do what?": a form that asks what would be decided, and the decision with what made it.

use maud::{Markup, html};
use serde_json::{Map, Value};
use trunkline_control::access::Role;

use super::policies::{HERE, TRAIL, effects};
use super::servers::word;
use crate::api_client::ApiError;
use crate::form::Form;
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;

const WHO: [(&str, &str); 4] = [
    ("key", "API key"),
    ("user", "User of the issuer"),
    ("anonymous", "Nobody in particular"),
    ("admin", "Admin token"),
];
const ACTIONS: [(&str, &str); 4] =
    [("call", "Call"), ("list", "List"), ("read", "Read"), ("get", "Get")];
const KINDS: [(&str, &str); 4] =
    [("tool", "Tool"), ("resource", "Resource"), ("prompt", "Prompt"), ("server", "Server")];

/// `GET /policies/test`.
pub(super) fn empty(request: &PageRequest<'_>) -> Page {
    page(request, None)
}

/// `POST /policies/test`. Whoever comes with a draft has not asked anything yet.
pub(super) async fn ask(request: &PageRequest<'_>) -> PageResult {
    if request.form.get("server").is_none() {
        return Ok(page(request, None));
    }
    let body = question(&request.form).into();
    let asked = request.send("POST", "/api/v1/policy-test", Some(&body)).await;
    Ok(page(request, Some(&asked)))
}

/// The form in the API's words.
fn question(form: &Form) -> Map<String, Value> {
    let field = |name: &str| form.filled(name).unwrap_or_default();
    let who = match field("who") {
        kind @ ("key" | "user") => format!("{kind}:{}", field("id-of-caller")),
        other => other.to_owned(),
    };
    // A dot in the name of a server would end it.
    let server = field("server");
    let resource = match field("kind") {
        "server" => format!("server:{server}"),
        kind => {
            let server = server.replace('\\', "\\\\").replace('.', "\\.");
            format!("{kind}:{server}.{}", field("name"))
        }
    };
    // What is no JSON is left to the API to refuse.
    let json = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let lines = |text: &str| -> Value {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
    };
    let mut body = Map::new();
    body.insert("principal".to_owned(), who.into());
    body.insert("action".to_owned(), field("action").into());
    body.insert("resource".to_owned(), resource.into());
    let more = [
        ("arguments", form.filled("arguments").map(json)),
        ("claims", form.filled("claims").map(json)),
        ("tools", form.filled("tools").map(lines)),
        ("role", form.filled("role").map(Value::from)),
        ("address", form.filled("address").map(Value::from)),
        ("now", form.filled("now").map(Value::from)),
        ("text", form.filled("text").map(Value::from)),
        ("id", form.filled("text").and(form.filled("id")).map(Value::from)),
    ];
    body.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    body
}

fn page(request: &PageRequest<'_>, asked: Option<&Result<Value, ApiError>>) -> Page {
    let trouble = asked.and_then(|asked| asked.as_ref().err());
    let shell = Shell { title: "Who may do what?", here: HERE, trail: &TRAIL, ..Shell::default() };
    let content = html! {
        @if let Some(Ok(decision)) = asked { (decided(decision)) }
        (form(request, trouble))
    };
    layout::framed(request, trouble.map_or(200, |trouble| trouble.status), &shell, &content)
}

/// What would be decided, first of all in a word.
fn decided(decision: &Value) -> Markup {
    let policies = decision["policies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_allowed = decision["allowed"] == true;
    let stage = match word(decision, "decided_by") {
        "key" => "The key decides.",
        "role" => "The role decides.",
        "patterns" => "The tools of the key decide.",
        "no-policies" => "Role and tools of the key decide: there are no policies.",
        "list" => "Policies decide that it is not listed.",
        _ => "Policies decide.",
    };
    html! {
        section.card.outcome #decision {
            h2 {
                @if is_allowed { span.badge.good.dot { "Allowed" } } @else { span.badge.bad.dot { "Refused" } }
                (stage)
            }
            p { (sentence(word(decision, "explanation"))) }
            @if let Some(note) = decision["note"].as_str() { p.notice.warn { (sentence(note)) } }
            (effects(policies))
        }
    }
}

/// As a sentence stands on a page.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn form(request: &PageRequest<'_>, trouble: Option<&ApiError>) -> Markup {
    let form = &request.form;
    let field = |name: &str| form.get(name).unwrap_or_default().to_owned();
    let has_more = ["claims", "tools", "role", "address", "now"]
        .into_iter()
        .any(|name| form.filled(name).is_some());
    html! {
        form.card.form method="post" action="/policies/test" novalidate {
            (layout::hidden(request))
            @if let Some(trouble) = trouble {
                div.notice.bad role="alert" {
                    @if trouble.mistakes.is_empty() { p { (trouble.sentence()) } }
                    @else { p { strong { "Not asked." } " Fix the highlighted fields." } }
                }
            }
            div.pair {
                (select("who", ("Who", "Whoever asks."), &WHO, &field("who"), ("", trouble)))
                (input("id-of-caller", "Key id or user", "Of a key or a user only.", &field("id-of-caller"), ("/principal", trouble)))
            }
            div.pair {
                (select("action", ("Action", ""), &ACTIONS, &field("action"), ("/action", trouble)))
                (select("kind", ("Kind", ""), &KINDS, &field("kind"), ("", trouble)))
            }
            div.pair {
                (input("server", "Server", "Its name.", &field("server"), ("/resource", trouble)))
                (input("name", "Name", "As the server has it; of a resource its URI.", &field("name"), ("", trouble)))
            }
            (area("arguments", "Arguments", "Optional, a JSON object.", &field("arguments"), ("/arguments", trouble)))
            details open[has_more] {
                summary { "More" }
                (area("claims", "Claims", "Of a user's token, a JSON object.", &field("claims"), ("/claims", trouble)))
                (roles(&field("role")))
                (area("tools", "Tools of the key", "One pattern per line. Empty: those the key has.", &field("tools"), ("/tools", trouble)))
                (input("address", "Address", "Empty: 127.0.0.1.", &field("address"), ("/address", trouble)))
                (input("now", "Time", "As 2027-01-31T12:00:00Z. Empty: now.", &field("now"), ("/now", trouble)))
            }
            @if form.filled("text").is_some() { (draft(form, trouble)) }
            div.buttons {
                button.primary type="submit" { "Ask" }
                a.button href=(HERE) { "Back to the policies" }
            }
        }
    }
}

/// A text that was written elsewhere and is not stored.
fn draft(form: &Form, trouble: Option<&ApiError>) -> Markup {
    let id = form.filled("id").unwrap_or_default();
    let help = match id {
        "" => "Not stored. It is tried together with the policies that hold.".to_owned(),
        id => format!("Not stored. It is tried in the place of {id}."),
    };
    html! {
        input type="hidden" name="id" value=(id);
        (area("text", "Draft", &help, form.get("text").unwrap_or_default(), ("/text", trouble)))
    }
}

/// Where its mistakes are in the request, and all there are.
type Mistakes<'a> = (&'a str, Option<&'a ApiError>);

fn input(name: &str, label: &str, help: &str, value: &str, wrong: Mistakes<'_>) -> Markup {
    let is_wrong = (!complaints(wrong).is_empty()).then_some("true");
    around(
        name,
        label,
        help,
        wrong,
        &html! {
            input id=(name) name=(name) value=(value) autocomplete="off" spellcheck="false" aria-invalid=[is_wrong];
        },
    )
}

fn area(name: &str, label: &str, help: &str, value: &str, wrong: Mistakes<'_>) -> Markup {
    let is_wrong = (!complaints(wrong).is_empty()).then_some("true");
    let rows = if name == "text" { "10" } else { "3" };
    around(
        name,
        label,
        help,
        wrong,
        &html! {
            textarea id=(name) name=(name) rows=(rows) autocomplete="off" spellcheck="false" aria-invalid=[is_wrong] { "\n" (value) }
        },
    )
}

fn select(
    name: &str,
    (label, help): (&str, &str),
    choices: &[(&str, &str)],
    chosen: &str,
    wrong: Mistakes<'_>,
) -> Markup {
    around(
        name,
        label,
        help,
        wrong,
        &html! {
            select id=(name) name=(name) {
                @for (value, word) in choices { option value=(value) selected[*value == chosen] { (word) } }
            }
        },
    )
}

fn roles(chosen: &str) -> Markup {
    let all = Role::ALL.map(|role| (role.name(), role.name()));
    let usual = [("", "That of the key; caller of others")];
    let choices: Vec<_> = usual.into_iter().chain(all).collect();
    select("role", ("Role", ""), &choices, chosen, ("", None))
}

fn around(name: &str, label: &str, help: &str, wrong: Mistakes<'_>, field: &Markup) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            p.help { (help) }
            (field)
            @for complaint in complaints(wrong) { p.mistake { (complaint) } }
        }
    }
}

fn complaints((at, trouble): Mistakes<'_>) -> Vec<String> {
    let mistakes = trouble.filter(|_| !at.is_empty()).into_iter().flat_map(|it| it.at(at));
    mistakes.map(|mistake| sentence(&mistake.message)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_form_becomes_a_question_of_the_api() {
        let form = Form::read(
            "who=user&id-of-caller=alice&action=call&kind=tool&server=a.b&name=c.d&arguments=%7B%22x%22%3A1%7D\
             &claims=%7B&tools=a.*%0D%0A%0D%0A+b.*&role=&address=+&id=base",
        );
        let expected = json!({ "principal": "user:alice", "action": "call", "resource": r"tool:a\.b.c.d",
            "arguments": { "x": 1 }, "claims": "{", "tools": ["a.*", "b.*"] });
        assert_eq!(Value::from(question(&form)), expected);
        let form = Form::read("who=admin&action=list&kind=server&server=a.b&text=x&id=base");
        let expected = json!({ "principal": "admin", "action": "list", "resource": "server:a.b",
            "text": "x", "id": "base" });
        assert_eq!(Value::from(question(&form)), expected);
    }
}
