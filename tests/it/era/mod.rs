//! Both eras of the protocol at once: clients and servers of either, in every combination.

mod again;
mod cancel;
mod capabilities;
mod chosen;
mod discover;
mod fleet;
mod giving_way;
mod headers;
mod levels;
mod listen;
mod looping;
mod modes;
mod opening;
mod parameters;
mod probe;
mod probe_http;
mod repeated;
mod requests;
mod results;
mod rounds;
mod same;
mod state;
mod subscribe;
mod unanswered;
mod whose;

/// What a client declares that can be asked everything.
const ABLE: &str = r#"{"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}"#;

/// Method, params as the server writes them, and the client's result as it writes it.
const QUESTIONS: [(&str, &str, &str); 3] = [
    (
        "sampling/createMessage",
        r#"{ "messages":[{"role":"user","content":{"type":"text","text":"\u0068i"}}],"maxTokens":1e2,"x":1.0 }"#,
        r#"{ "role":"assistant","content":{"type":"text","text":"\/"},"model":"m","n":1.10 }"#,
    ),
    (
        "elicitation/create",
        r#"{ "message":"who?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1E2}}} }"#,
        r#"{"action":"accept","content":{ "n":-0.0 }}"#,
    ),
    ("roots/list", r#"{"_meta":{"a":1.0}}"#, r#"{ "roots":[{"uri":"file:\/\/\/r","n":1e400}] }"#),
];

/// The answer to a question of this method.
fn answer_to(method: &str) -> &'static str {
    let found = QUESTIONS.iter().find(|(known, ..)| *known == method);
    found.unwrap_or_else(|| panic!("nobody knows {method}")).2
}
