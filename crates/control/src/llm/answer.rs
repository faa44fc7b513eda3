//! What the model has answered, as far as it can be used: skills that there are, numbers that are
//! confidences, and suggestions in plain text. Everything else is left out. Pure.

use serde_json::Value;

use crate::skills::{MOST_SKILLS, Taxonomy, is_skill_id};

/// What the model says about one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmVerdict {
    /// The likeliest first; at least one.
    pub skills: Vec<(String, f32)>,
    pub suggested: Option<SuggestedSkill>,
}

/// A skill that the model misses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedSkill {
    pub id: String,
    pub title: String,
    pub keywords: String,
    pub reason: String,
}

const MOST_TITLE: usize = 100;
const MOST_TEXT: usize = 500;

/// For each of `count` tools what is said about it, if that is of use. Why there is nothing at all, in
/// words that do not repeat the answer: it may be anything.
pub(super) fn read(
    body: &[u8],
    count: usize,
    taxonomy: &Taxonomy,
) -> Result<Vec<Option<LlmVerdict>>, &'static str> {
    let said = said(body)?;
    let entries = said.get("tools").and_then(Value::as_array).ok_or("its text has no `tools`")?;
    let mut verdicts: Vec<Option<LlmVerdict>> = vec![None; count];
    for entry in entries.iter().take(count.saturating_mul(4)) {
        let index = entry.get("index").and_then(Value::as_u64);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let Some(place) = index.and_then(|index| verdicts.get_mut(index)) else { continue };
        // The first word counts.
        if place.is_none() {
            *place = verdict(entry, taxonomy);
        }
    }
    Ok(verdicts)
}

/// The JSON that the model has written into its message.
pub(super) fn said(body: &[u8]) -> Result<Value, &'static str> {
    let body: Value = serde_json::from_slice(body).map_err(|_| "its answer is not JSON")?;
    let message = body.pointer("/choices/0/message").ok_or("its answer has no message")?;
    if message.get("refusal").is_some_and(Value::is_string) {
        return Err("it refused to answer");
    }
    let content = message.get("content").and_then(Value::as_str);
    let content = content.ok_or("its message has no text")?;
    serde_json::from_str(bare(content)).map_err(|_| "its text is not JSON")
}

/// Models like to put JSON into a block of code.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```") else { return text };
    let inner = inner.strip_prefix("json").unwrap_or(inner);
    inner.strip_suffix("```").unwrap_or(inner).trim()
}

fn verdict(entry: &Value, taxonomy: &Taxonomy) -> Option<LlmVerdict> {
    let mut skills: Vec<(String, f32)> = Vec::new();
    for skill in entry.get("skills")?.as_array()? {
        let id = skill.get("id").and_then(Value::as_str).and_then(|id| taxonomy.get(id));
        let sure = skill.get("confidence").and_then(Value::as_f64);
        let sure = sure.filter(|sure| (0.0..=1.0).contains(sure));
        let (Some(skill), Some(sure)) = (id, sure) else { continue };
        if skills.iter().all(|(known, _)| *known != skill.id) {
            #[expect(clippy::cast_possible_truncation, reason = "from 0 to 1")]
            skills.push((skill.id.clone(), sure as f32));
        }
    }
    skills.sort_by(|a, b| b.1.total_cmp(&a.1));
    skills.truncate(MOST_SKILLS);
    if skills.is_empty() {
        return None;
    }
    let suggested = entry.get("new_skill").and_then(|new| suggested(new, taxonomy));
    Some(LlmVerdict { skills, suggested })
}

fn suggested(new: &Value, taxonomy: &Taxonomy) -> Option<SuggestedSkill> {
    let text = |key: &str, most: usize| {
        let text = new.get(key).and_then(Value::as_str).unwrap_or_default();
        plain(text, most)
    };
    let id = new.get("id")?.as_str().filter(|id| is_skill_id(id))?;
    let title = text("title", MOST_TITLE);
    let is_new = taxonomy.get(id).is_none() && !title.is_empty();
    is_new.then(|| SuggestedSkill {
        id: id.to_owned(),
        title,
        keywords: text("keywords", MOST_TEXT),
        reason: text("reason", MOST_TEXT),
    })
}

/// One line that a person can see all of.
fn plain(text: &str, most: usize) -> String {
    let visible = |c: char| {
        let mut bytes = [0; 4];
        let shown = trunkline_catalog::name::admissible(c.encode_utf8(&mut bytes)).is_ok();
        if shown { c } else { ' ' }
    };
    let text: String = text.chars().take(most).map(visible).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn said(content: &str) -> Vec<u8> {
        json!({ "choices": [{ "message": { "content": content } }] }).to_string().into_bytes()
    }

    fn skills(content: &str) -> String {
        match read(&said(content), 2, &Taxonomy::new(&[])) {
            Err(why) => why.to_owned(),
            Ok(verdicts) => {
                let one = |verdict: &Option<LlmVerdict>| match verdict {
                    None => "-".to_owned(),
                    Some(it) => it
                        .skills
                        .iter()
                        .map(|(id, sure)| format!("{id} {sure}"))
                        .collect::<Vec<_>>()
                        .join(","),
                };
                verdicts.iter().map(one).collect::<Vec<_>>().join(" | ")
            }
        }
    }

    #[test]
    fn only_what_can_be_is_taken() {
        for (content, expected) in [
            (
                r#"{"tools":[{"index":0,"skills":[{"id":"database","confidence":0.5},{"id":"finance","confidence":0.75}]}]}"#,
                "finance 0.75,database 0.5 | -",
            ),
            (
                "```json\n{\"tools\":[{\"index\":1,\"skills\":[{\"id\":\"database\",\"confidence\":1}]}]}\n```",
                "- | database 1",
            ),
            (
                r#"{"tools":[{"index":0,"skills":[{"id":"rm -rf","confidence":1},{"id":"database","confidence":2}]}]}"#,
                "- | -",
            ),
            (
                r#"{"tools":[{"index":0,"skills":[{"id":"database","confidence":"1"},{"id":"database","confidence":-0.1}]}]}"#,
                "- | -",
            ),
            (
                r#"{"tools":[{"index":7,"skills":[{"id":"database","confidence":1}]},{"index":-1,"skills":[]}]}"#,
                "- | -",
            ),
            (
                r#"{"tools":[{"index":0,"skills":[{"id":"database","confidence":0.5},{"id":"database","confidence":1}]},{"index":0,"skills":[{"id":"finance","confidence":1}]}]}"#,
                "database 0.5 | -",
            ),
            (
                r#"{"tools":[{"index":1,"skills":[{"id":"database","confidence":0.25},{"id":"finance","confidence":0.5},{"id":"weather_environment","confidence":0.125},{"id":"security","confidence":0}]}]}"#,
                "- | finance 0.5,database 0.25,weather_environment 0.125",
            ),
            ("I think it is a database tool.", "its text is not JSON"),
            (r#"{"tools":"all"}"#, "its text has no `tools`"),
            (r#"{"tools":[]}"#, "- | -"),
            (r#"{"tools":[null,7,{"index":0,"skills":null}]}"#, "- | -"),
        ] {
            assert_eq!(skills(content), expected, "{content}");
        }
        let taxonomy = Taxonomy::new(&[]);
        for (body, why) in [
            ("<html>", "its answer is not JSON"),
            ("{}", "its answer has no message"),
            (
                r#"{"choices":[{"message":{"refusal":"no","content":null}}]}"#,
                "it refused to answer",
            ),
            (r#"{"choices":[{"message":{"content":7}}]}"#, "its message has no text"),
        ] {
            assert_eq!(read(body.as_bytes(), 1, &taxonomy), Err(why), "{body}");
        }
    }

    #[test]
    fn a_suggestion_is_new_and_plain() {
        let taxonomy = Taxonomy::new(&[]);
        let read = |new: Value| suggested(&new, &taxonomy);
        let good = json!({ "id": "robots", "title": " Ro\u{202e}bots\n", "keywords": "arm", "reason": "x\u{1b}[2Jy" });
        let good = read(good).unwrap();
        assert_eq!((good.title.as_str(), good.reason.as_str()), ("Ro bots", "x [2Jy"));
        for bad in [
            json!(null),
            json!({ "id": "database", "title": "Databases" }),
            json!({ "id": "../robots", "title": "Robots" }),
            json!({ "id": "robots", "title": "\u{200b}" }),
            json!({ "id": 7, "title": "Robots" }),
        ] {
            assert_eq!(read(bad.clone()), None, "{bad}");
        }
        let long = json!({ "id": "robots", "title": "R", "reason": "r".repeat(10_000) });
        assert_eq!(read(long).unwrap().reason.len(), MOST_TEXT);
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(bytes in any::<Vec<u8>>(), content in any::<String>()) {
            let taxonomy = Taxonomy::default();
            let _ = read(&bytes, 3, &taxonomy);
            let _ = read(&said(&content), 3, &taxonomy);
        }
    }
}
