//! Finding things on a page as a person does: by what stands on them; and doing something with them.
//!
//! Pages change while they are looked at: each step finds its element anew, and is tried again until
//! it works or the time is over.

use serde_json::{Value, json};

use super::Browser;
use super::driver::Refused;
use crate::LIMIT;
use crate::process::comes_true;

/// How an element is found. The first that can be seen counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    Css(&'a str),
    /// A field by its label, or the beginning of it.
    Label(&'a str),
    /// A button, link or switch by what stands on it, or the beginning of it.
    Words(&'a str),
    /// A button, link or switch within the smallest row (of a table or list) that holds this text.
    InRow(&'a str, &'a str),
}

/// What the driver calls an element.
pub(super) const REFERENCE: &str = "element-6066-11e4-a52e-4f735466cecf";

/// `return`s the first element that can be seen.
const FIND: &str = r"
const [kind, wanted, row] = arguments;
const plain = text => (text || '').replace(/\s+/g, ' ').trim();
const seen = e => e.checkVisibility({visibilityProperty: true});
const said = e => plain(e.getAttribute('aria-label') || (e.tagName === 'INPUT' ? e.value : e.textContent));
const best = (all, words) => all.find(e => words(e) === wanted) || all.find(e => words(e).startsWith(wanted));
const pressed = 'button, a[href], summary, [role=button], [role=tab], input[type=submit]';
if (kind === 'css') return [...document.querySelectorAll(wanted)].find(seen);
if (kind === 'label') {
  const labels = [...document.querySelectorAll('label, [aria-label]')];
  const all = labels.filter(l => l.control ? seen(l) : l.matches('input, select, textarea') && seen(l));
  const found = best(all, l => plain(l.getAttribute('aria-label') || l.textContent));
  return found && (found.control || found);
}
let root = document;
if (kind === 'row') {
  const rows = [...document.querySelectorAll('tr, li, article, dl > div')];
  const all = rows.filter(r => seen(r) && plain(r.textContent).includes(row));
  root = all.sort((a, b) => a.textContent.length - b.textContent.length)[0];
}
return root && best([...root.querySelectorAll(pressed)].filter(seen), said);
";

impl Browser {
    #[track_caller]
    pub fn click(&self, by: &By<'_>) {
        self.attempt("click", by, |element| {
            self.driver.post(&format!("element/{element}/click"), &json!({})).map(drop)
        });
    }

    /// Replaces what is in a field.
    #[track_caller]
    pub fn fill(&self, by: &By<'_>, text: &str) {
        self.attempt("fill", by, |element| {
            self.driver.post(&format!("element/{element}/clear"), &json!({}))?;
            self.driver
                .post(&format!("element/{element}/value"), &json!({ "text": text }))
                .map(drop)
        });
    }

    /// Chooses the option with this text in a list.
    #[track_caller]
    pub fn choose(&self, by: &By<'_>, option: &str) {
        const CHOOSE: &str = "const [list, wanted] = arguments; \
            const found = [...list.options].find(o => o.textContent.trim() === wanted); \
            if (!found) return false; list.value = found.value; \
            list.dispatchEvent(new Event('input', {bubbles: true})); \
            list.dispatchEvent(new Event('change', {bubbles: true})); return true;";
        self.attempt("choose", by, |element| {
            let list = json!({ REFERENCE: element });
            match self.try_script(CHOOSE, &[list, option.into()])? {
                Value::Bool(true) => Ok(()),
                _ => Err(Refused::default()),
            }
        });
    }

    #[track_caller]
    pub fn text_of(&self, by: &By<'_>) -> String {
        let mut text = String::new();
        self.attempt("read", by, |element| {
            text = self.text_in(element)?;
            Ok(())
        });
        text
    }

    /// What is in a field now.
    #[track_caller]
    pub fn value_of(&self, by: &By<'_>) -> String {
        let mut value = Value::Null;
        self.attempt("read", by, |element| {
            value = self.driver.get(&format!("element/{element}/property/value"))?;
            Ok(())
        });
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Is there such an element now, and can it be seen?
    pub fn shows(&self, by: &By<'_>) -> bool {
        self.find(by).is_ok_and(|found| found.is_some())
    }

    #[track_caller]
    pub fn wait(&self, by: &By<'_>) {
        assert!(comes_true(LIMIT, || self.shows(by)), "no {by:?} at {}", self.path());
    }

    #[track_caller]
    pub fn wait_gone(&self, by: &By<'_>) {
        assert!(comes_true(LIMIT, || !self.shows(by)), "still {by:?} at {}", self.path());
    }

    pub(super) fn try_text(&self, by: &By<'_>) -> Result<String, Refused> {
        match self.find(by)? {
            Some(element) => self.text_in(&element),
            None => Err(Refused::default()),
        }
    }

    fn text_in(&self, element: &str) -> Result<String, Refused> {
        let told = self.driver.get(&format!("element/{element}/text"))?;
        Ok(told.as_str().unwrap_or_default().to_owned())
    }

    fn find(&self, by: &By<'_>) -> Result<Option<String>, Refused> {
        let (kind, wanted, row) = match *by {
            By::Css(css) => ("css", css, ""),
            By::Label(label) => ("label", label, ""),
            By::Words(words) => ("words", words, ""),
            By::InRow(row, words) => ("row", words, row),
        };
        let found = self.try_script(FIND, &[kind.into(), wanted.into(), row.into()])?;
        Ok(found[REFERENCE].as_str().map(str::to_owned))
    }

    #[track_caller]
    pub(super) fn attempt(
        &self,
        what: &str,
        by: &By<'_>,
        mut step: impl FnMut(&str) -> Result<(), Refused>,
    ) {
        let mut last = None;
        let done = comes_true(LIMIT, || match self.find(by) {
            Ok(Some(element)) => match step(&element) {
                Ok(()) => true,
                Err(refused) => {
                    last = Some(refused);
                    false
                }
            },
            Ok(None) => false,
            Err(refused) => {
                last = Some(refused);
                false
            }
        });
        let why = last.map(|refused| refused.to_string()).unwrap_or_default();
        assert!(done, "cannot {what} {by:?} at {}: {why}", self.path());
    }
}
