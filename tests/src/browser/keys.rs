//! The keyboard alone: keys go to whatever has the focus.

use serde_json::{Value, json};

use super::Browser;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Tab,
    Enter,
    Space,
    Escape,
}

impl Key {
    /// The characters that WebDriver has set aside for keys.
    fn code(self) -> char {
        match self {
            Self::Tab => '\u{e004}',
            Self::Enter => '\u{e007}',
            Self::Space => ' ',
            Self::Escape => '\u{e00c}',
        }
    }
}

impl Browser {
    #[track_caller]
    pub fn press(&self, key: Key) {
        self.type_text(&key.code().to_string());
    }

    #[track_caller]
    pub fn type_text(&self, text: &str) {
        let strokes = text.chars().flat_map(|letter| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": letter.to_string() }))
        });
        let strokes: Vec<Value> = strokes.collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.post("actions", &json!({ "actions": [keyboard] }));
    }

    /// What has the focus: its tag, and what it is called.
    #[track_caller]
    pub fn focused(&self) -> String {
        let told = self.script(
            "const e = document.activeElement; const label = e.labels && e.labels[0]; \
             const name = e.getAttribute('aria-label') || (label || e).textContent; \
             return e.tagName.toLowerCase() + ' ' + name.replace(/\\s+/g, ' ').trim()",
            &[],
        );
        told.as_str().unwrap_or_default().to_owned()
    }

    /// Can the focus be seen? An outline, a border or a shadow that is not there without it.
    #[track_caller]
    pub fn focus_is_seen(&self) -> bool {
        let told = self.script(
            "const e = document.activeElement; const of = () => { const s = getComputedStyle(e); \
             return [s.outlineStyle === 'none' ? '' : s.outline, s.boxShadow, s.borderColor, \
             s.backgroundColor].join('|') }; \
             const now = of(); e.blur(); const then = of(); e.focus({focusVisible: true}); \
             return now !== then",
            &[],
        );
        told == true
    }

    /// Goes on with the Tab key until this has the focus.
    #[track_caller]
    pub fn tab_to(&self, name: &str) {
        /// More than any page has.
        const MOST: usize = 100;
        let mut passed = Vec::new();
        for _ in 0..MOST {
            self.press(Key::Tab);
            let focused = self.focused();
            // The body holds every word of the page, and is what has the focus while nothing has.
            if focused.contains(name) && !focused.starts_with("body ") {
                return;
            }
            passed.push(focused);
        }
        panic!("the Tab key does not lead to {name:?}: {passed:?}");
    }
}
