//! What a tool's annotations say about calling it again. Pure.

use trunkline_wire::member;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    pub idempotent: bool,
    pub destructive: bool,
}

impl Hints {
    /// Of a tool's definition. Only a plain `true` counts: without a word nothing is promised.
    pub fn of(definition: &[u8]) -> Self {
        let annotations = member(definition, "annotations").unwrap_or_default();
        let says = |name| member(annotations, name) == Some(b"true");
        Self {
            read_only: says("readOnlyHint"),
            idempotent: says("idempotentHint"),
            destructive: says("destructiveHint"),
        }
    }

    /// May a call that may have run be made again? One that is said to read only and to destroy
    /// contradicts itself: it is not believed.
    pub fn may_repeat(self) -> bool {
        self.idempotent || (self.read_only && !self.destructive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_lets_a_call_be_made_again() {
        for (annotations, expected) in [
            ("{}", false),
            (r#"{"readOnlyHint":true}"#, true),
            (r#"{"readOnlyHint":false}"#, false),
            (r#"{"readOnlyHint":"true"}"#, false),
            (r#"{"readOnlyHint":true,"destructiveHint":true}"#, false),
            (r#"{"idempotentHint":true}"#, true),
            (r#"{"idempotentHint":true,"destructiveHint":true}"#, true),
            (r#"{"destructiveHint":false}"#, false),
            ("[]", false),
        ] {
            let definition = format!(r#"{{"name":"x","annotations":{annotations}}}"#);
            assert_eq!(Hints::of(definition.as_bytes()).may_repeat(), expected, "{annotations}");
        }
        assert!(!Hints::of(b"{\"name\":\"x\"}").may_repeat());
    }
}
