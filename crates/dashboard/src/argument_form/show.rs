//! The form as HTML. Whatever a schema says is text here.

use maud::{Markup, html};

use super::fill::Filled;
use super::{Bounds, Choice, Control, Field, LineType, Mistake, control_name};

/// The fields, as they are filled in, each with what is wrong with it.
pub(crate) fn show(fields: &[Field], filled: &Filled, mistakes: &[Mistake]) -> Markup {
    FieldWriter { filled, mistakes, drawn: 0 }.fields(fields)
}

struct FieldWriter<'a> {
    filled: &'a Filled,
    mistakes: &'a [Mistake],
    /// Names of tools' fields may hold anything; ids may not.
    drawn: usize,
}

/// What ties a field's parts together.
struct FieldLinks {
    id: String,
    /// Its explanation and its mistake.
    described_by: String,
    is_wrong: bool,
}

impl FieldWriter<'_> {
    fn fields(&mut self, fields: &[Field]) -> Markup {
        html! { @for field in fields { (self.field(field)) } }
    }

    fn field(&mut self, field: &Field) -> Markup {
        self.drawn += 1;
        let id = format!("arg-{}", self.drawn);
        let wrong = self.mistakes.iter().find(|mistake| mistake.at == field.at);
        let described_by = format!("{id}-doc {id}-mistake");
        let ties = FieldLinks { id, described_by, is_wrong: wrong.is_some() };
        let below = html! {
            p.help id={ (ties.id) "-doc" } {
                @if let Some(doc) = &field.doc { (doc) }
                @if let Some(hint) = hint(&field.control) { " " span.dim { (hint) } }
            }
            p.mistake id={ (ties.id) "-mistake" } {
                @if let Some(mistake) = wrong { (field.name) " " (mistake.says) }
            }
        };
        match &field.control {
            Control::Group(inner) => html! {
                fieldset.group { legend { (name(field)) } (below) (self.fields(inner)) }
            },
            Control::Several(choices) => html! {
                fieldset.several aria-describedby=(ties.described_by) {
                    legend { (name(field)) }
                    (self.ticks(field, choices, &ties))
                    (below)
                }
            },
            // A tick knows two states; one that need not be said has three.
            Control::Tick if field.is_required => html! {
                div.field.tick { (self.tick(field, &ties)) label for=(ties.id) { (name(field)) } (below) }
            },
            control => html! {
                div.field { label for=(ties.id) { (name(field)) } (self.control(field, control, &ties)) (below) }
            },
        }
    }

    fn control(&self, field: &Field, control: &Control, ties: &FieldLinks) -> Markup {
        match control {
            Control::Line(of) => self.input(field, kind(*of), &Bounds::default(), ties),
            Control::Number(bounds) => self.input(field, "number", bounds, ties),
            Control::Prose => self.area(field, 4, "", ties),
            Control::Lines(_) => self.area(field, 3, "", ties),
            Control::Json => self.area(field, 3, "code", ties),
            Control::Tick => {
                let choice = |word: &str| Choice { token: word.to_owned(), shown: word.to_owned() };
                self.select(field, &["true", "false"].map(choice), ties)
            }
            Control::Choice(choices) => self.select(field, choices, ties),
            // Drawn as sets of their own.
            Control::Group(_) | Control::Several(_) => html! {},
        }
    }

    fn input(&self, field: &Field, kind: &str, bounds: &Bounds, ties: &FieldLinks) -> Markup {
        let step = (kind == "number").then_some(if bounds.is_whole { "1" } else { "any" });
        html! {
            input id=(ties.id) name=(control_name(&field.at)) type=(kind) step=[step]
                min=[bounds.least.as_deref()] max=[bounds.most.as_deref()]
                value=(self.filled.one(&field.at)) required[field.is_required]
                autocomplete="off" spellcheck="false"
                aria-describedby=(ties.described_by) aria-invalid=[ties.is_wrong.then_some("true")];
        }
    }

    fn area(&self, field: &Field, rows: u8, class: &str, ties: &FieldLinks) -> Markup {
        html! {
            // The first line end of a text area is not part of it.
            textarea id=(ties.id) name=(control_name(&field.at)) rows=(rows)
                class=[(!class.is_empty()).then_some(class)] required[field.is_required]
                autocomplete="off" spellcheck="false"
                aria-describedby=(ties.described_by) aria-invalid=[ties.is_wrong.then_some("true")]
            { "\n" (self.filled.one(&field.at)) }
        }
    }

    fn select(&self, field: &Field, choices: &[Choice], ties: &FieldLinks) -> Markup {
        let chosen = self.filled.one(&field.at);
        html! {
            select id=(ties.id) name=(control_name(&field.at)) required[field.is_required]
                aria-describedby=(ties.described_by) aria-invalid=[ties.is_wrong.then_some("true")]
            {
                option value="" { (if field.is_required { "Choose…" } else { "(not said)" }) }
                @for choice in choices {
                    option value=(choice.token) selected[choice.token == chosen] { (choice.shown) }
                }
            }
        }
    }

    fn tick(&self, field: &Field, ties: &FieldLinks) -> Markup {
        html! {
            input id=(ties.id) name=(control_name(&field.at)) type="checkbox" value="true"
                checked[self.filled.one(&field.at) == "true"] aria-describedby=(ties.described_by);
        }
    }

    fn ticks(&self, field: &Field, choices: &[Choice], ties: &FieldLinks) -> Markup {
        html! {
            div.ticks {
                @for (index, choice) in choices.iter().enumerate() {
                    div.tick {
                        input id={ (ties.id) "-" (index) } name=(control_name(&field.at)) type="checkbox"
                            value=(choice.token) checked[self.filled.has(&field.at, &choice.token)];
                        label for={ (ties.id) "-" (index) } { (choice.shown) }
                    }
                }
            }
        }
    }
}

fn name(field: &Field) -> Markup {
    html! {
        @match &field.title {
            Some(title) => { (title) " " code.dim { (field.name) } },
            None => code { (field.name) },
        }
        @if field.is_required { " " span.required { "required" } }
    }
}

fn hint(control: &Control) -> Option<&'static str> {
    match control {
        Control::Lines(_) => Some("One a line."),
        Control::Json => Some("As JSON."),
        _ => None,
    }
}

fn kind(of: LineType) -> &'static str {
    match of {
        LineType::Text => "text",
        LineType::Address => "url",
        LineType::Email => "email",
        LineType::Date => "date",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::argument_form::read;

    #[test]
    fn whatever_a_schema_says_is_text() {
        let evil = r#""><script>alert(1)</script><p x=""#;
        let blank = read(&json!({ "properties": {
            evil: { "type": "string", "title": evil, "description": evil, "default": evil },
            "b": { "enum": [evil], "description": evil },
            "c": { "items": { "enum": [evil] } },
            "d": { "type": "number", "minimum": 1, "maximum": 1e300 },
            "e": { "default": { evil: evil } },
        } }));
        let page = show(blank.fields(), &Filled::preset(&blank), &[]).into_string();
        assert!(!page.contains("<script") && !page.contains("<p x"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "{page}");
    }

    #[test]
    fn each_field_has_a_label_a_name_and_its_mistake() {
        let blank = read(&json!({
            "properties": {
                "title": { "type": "string" },
                "loud": { "type": "boolean" },
                "sure": { "type": "boolean" },
                "place": { "properties": { "city": { "type": "string", "default": "Rome" } } },
            },
            "required": ["title", "sure"],
        }));
        let mistakes = [Mistake { at: "/title".to_owned(), says: "is required".to_owned() }];
        let page = show(blank.fields(), &Filled::preset(&blank), &mistakes).into_string();
        for part in [
            r#"<label for="arg-1">"#,
            r#"id="arg-1" name="arg:/title" type="text""#,
            r#"<p class="mistake" id="arg-1-mistake">title is required</p>"#,
            r#"aria-invalid="true""#,
            r#"<select id="arg-2" name="arg:/loud""#,
            r#"id="arg-3" name="arg:/sure" type="checkbox""#,
            r#"<fieldset class="group"><legend><code>place</code></legend>"#,
            r#"name="arg:/place/city" type="text" value="Rome""#,
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
