//! Tables in a restaurant: asks the person at the client for what a call leaves out.

use serde_json::{Value, json};

use crate::demo::tool::{
    Arguments, Demo, DemoQuestion, ToolOutcome, failed, object, reads, structured, tool,
};

#[derive(Debug, Default)]
pub(in crate::demo) struct Tables {
    reserved: Vec<Value>,
}

const TIMES: [&str; 4] = ["18:00", "19:00", "20:00", "21:00"];

impl Demo for Tables {
    fn instructions(&self) -> &'static str {
        "Reserves tables in a restaurant that does not exist. It asks for what it is not told."
    }

    fn tools(&self) -> Value {
        let writes = json!({
            "title": "Reserve a table",
            "readOnlyHint": false,
            "destructiveHint": false,
            "openWorldHint": false,
        });
        json!([
            tool(
                "reserve",
                "Reserve a table",
                "Reserve a table for tonight. What is left out is asked for.",
                object(form(), &[]),
                writes,
            ),
            reads("reserved", "Reservations", "All reservations so far.", object(json!({}), &[])),
        ])
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Arguments<'_>,
        answer: Option<&Value>,
    ) -> Option<ToolOutcome> {
        match tool {
            "reserve" => Some(self.reserve(arguments, answer)),
            "reserved" => {
                Some(ToolOutcome::Done(structured(&json!({ "reservations": self.reserved }))))
            }
            _ => None,
        }
    }
}

impl Tables {
    fn reserve(&mut self, arguments: &Arguments<'_>, answer: Option<&Value>) -> ToolOutcome {
        let action = answer.and_then(|answer| answer.get("action")).and_then(Value::as_str);
        let filled_in = Arguments(answer.and_then(|answer| answer.get("content")));
        let text = |key| arguments.text(key).or_else(|| filled_in.text(key));
        let people = arguments.whole("people").or_else(|| filled_in.whole("people"));
        match (text("name"), people, text("time"), action) {
            (_, _, _, Some("decline" | "cancel")) => {
                ToolOutcome::Done(failed("nothing was reserved: you did not want to say more"))
            }
            (Some(name), Some(people), Some(time), _) => {
                if !(1..=12).contains(&people) || !TIMES.contains(&time) {
                    let why = format!("`people` is 1 to 12, `time` is {}", TIMES.join(", "));
                    return ToolOutcome::Done(failed(why));
                }
                let made = json!({ "name": name, "people": people, "time": time });
                self.reserved.push(made.clone());
                ToolOutcome::Done(structured(&json!({ "reserved": made })))
            }
            (_, _, _, Some(_)) => ToolOutcome::Done(failed("the form was not filled in")),
            _ => ToolOutcome::Ask(DemoQuestion {
                message: "For how many people is the table, when, and under which name?".to_owned(),
                schema: object(form(), &["name", "people", "time"]),
            }),
        }
    }
}

fn form() -> Value {
    json!({
        "name": { "type": "string", "title": "Name", "minLength": 1, "maxLength": 60 },
        "people": { "type": "integer", "title": "People", "minimum": 1, "maximum": 12 },
        "time": { "type": "string", "title": "Time", "enum": TIMES },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_asked_for_once() {
        let mut tables = Tables::default();
        let some = json!({ "name": "Ada" });
        let some = Arguments(Some(&some));
        assert!(matches!(tables.reserve(&some, None), ToolOutcome::Ask(_)));
        let answer = json!({ "action": "accept", "content": { "people": 2, "time": "19:00" } });
        let ToolOutcome::Done(done) = tables.reserve(&some, Some(&answer)) else {
            panic!("it asks")
        };
        assert_eq!(done["structuredContent"]["reserved"]["people"], 2);
        for refused in [json!({ "action": "decline" }), json!({ "action": "accept" }), json!({})] {
            let outcome = tables.reserve(&some, Some(&refused));
            match refused.get("action") {
                None => assert!(matches!(outcome, ToolOutcome::Ask(_))),
                Some(_) => {
                    assert!(matches!(outcome, ToolOutcome::Done(why) if why["isError"] == true));
                }
            }
        }
        assert_eq!(tables.reserved.len(), 1);
    }
}
