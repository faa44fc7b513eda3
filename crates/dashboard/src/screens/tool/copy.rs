//! How to make this call elsewhere: as `curl`, and with our own command line.

use maud::{Markup, html};

use super::ToolPage;
use super::trial::call_body;
use crate::page_request::PageRequest;
use crate::signed_in::is_secure;

/// The card with both. The token is the reader's: it is a variable in what is copied.
pub(super) fn show(request: &PageRequest<'_>, looked: &ToolPage) -> Markup {
    let site = site(request);
    let arguments = looked.entered.draft(&looked.blank);
    let tool = &looked.tool;
    let commands = [
        ("as-curl", "curl", curl(&site, &call_body(&tool.name, &arguments))),
        ("as-cli", "trunkline", trunkline(&site, &tool.name, &arguments)),
    ];
    html! {
        section.card #elsewhere {
            h2 { "Use this call elsewhere" }
            @for (id, word, command) in &commands {
                div.copy {
                    h3 { "With " code { (word) } }
                    button.quiet type="button" data-copy={ "#" (id) } hidden { "Copy" }
                    pre.block id=(id) tabindex="0" { (command) }
                }
            }
            p.dim.small { "Uses the arguments entered above. " code { "TRUNKLINE_TOKEN" } " is an API key or the admin token." }
        }
    }
}

fn site(request: &PageRequest<'_>) -> String {
    let public = request.state.api.plane().settings().public_url.as_deref();
    if let Some(public) = public {
        return public.trim_end_matches('/').to_owned();
    }
    let headers = &request.visit.headers;
    let is_secure = is_secure(request.state, request.visit);
    let scheme = if is_secure { "https" } else { "http" };
    format!("{scheme}://{}", headers.text("host").unwrap_or("127.0.0.1"))
}

fn curl(site: &str, body: &str) -> String {
    let place = quoted(&format!("{site}/api/v1/tools/call"));
    format!(
        "curl -sS {place} \\\n  -H \"Authorization: Bearer $TRUNKLINE_TOKEN\" \\\n  \
         -H 'Content-Type: application/json' \\\n  --data-binary {}",
        quoted(body)
    )
}

fn trunkline(site: &str, name: &str, arguments: &str) -> String {
    let arguments = match arguments {
        "{}" => String::new(),
        arguments => format!(" \\\n  --args {}", quoted(arguments)),
    };
    // A name is told from a flag whatever it begins with.
    format!(
        "trunkline call --url {} --token \"$TRUNKLINE_TOKEN\"{arguments} \\\n  -- {}",
        quoted(&format!("{site}/mcp")),
        quoted(name)
    )
}

/// One word of a POSIX shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_one_word_where_they_should_be() {
        for (text, expected) in [
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(rm -rf /)`x`\\\n", "'$(rm -rf /)`x`\\\n'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn the_commands_name_the_tool_and_its_arguments() {
        let body = call_body("a.b", r#"{"x":"it's"}"#);
        assert_eq!(body, r#"{"name":"a.b","arguments":{"x":"it's"}}"#);
        let curl = curl("http://127.0.0.1:1", &body);
        assert!(curl.starts_with("curl -sS 'http://127.0.0.1:1/api/v1/tools/call' \\\n"), "{curl}");
        assert!(curl.ends_with(r#"--data-binary '{"name":"a.b","arguments":{"x":"it'\''s"}}'"#));
        assert_eq!(
            trunkline("http://h", "a.b", "{}"),
            "trunkline call --url 'http://h/mcp' --token \"$TRUNKLINE_TOKEN\" \\\n  -- 'a.b'"
        );
        assert!(trunkline("http://h", "a.b", r#"{"x":1}"#).contains(r#"--args '{"x":1}'"#));
    }
}
