//! The mouse: it points at something, is pressed and released, each when a test says so.

use serde_json::{Value, json};

use super::driver::Refused;
use super::find::REFERENCE;
use super::{Browser, By};

impl Browser {
    /// Moves the pointer to the middle of an element, and leaves it there.
    #[track_caller]
    pub fn point_at(&self, by: &By<'_>) {
        self.attempt("point at", by, |element| {
            let origin = json!({ REFERENCE: element });
            let step =
                json!({ "type": "pointerMove", "duration": 0, "origin": origin, "x": 0, "y": 0 });
            self.mouse(&step)
        });
    }

    /// Moves the pointer to a corner where nothing is.
    #[track_caller]
    pub fn point_away(&self) {
        let step = json!({ "type": "pointerMove", "duration": 0, "x": 0, "y": 0 });
        self.mouse(&step).unwrap_or_else(|refused| panic!("{refused}"));
    }

    #[track_caller]
    pub fn mouse_down(&self) {
        let step = json!({ "type": "pointerDown", "button": 0 });
        self.mouse(&step).unwrap_or_else(|refused| panic!("{refused}"));
    }

    #[track_caller]
    pub fn mouse_up(&self) {
        let step = json!({ "type": "pointerUp", "button": 0 });
        self.mouse(&step).unwrap_or_else(|refused| panic!("{refused}"));
    }

    fn mouse(&self, step: &Value) -> Result<(), Refused> {
        let mouse = json!({ "type": "pointer", "id": "mouse", "actions": [step],
            "parameters": { "pointerType": "mouse" } });
        self.driver.post("actions", &json!({ "actions": [mouse] })).map(drop)
    }
}
