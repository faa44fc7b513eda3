//! `Absence`: why a server is not there, for those who run it and for those who only call it.

use std::fmt;

/// Why a server is not there.
#[derive(Clone, Debug)]
pub(crate) struct Absence {
    pub(crate) why: String,
    /// What callers are told who do not run the server, where `why` names files of this machine.
    pub(crate) brief: Option<String>,
    /// What the server has written to stderr about it, ready to be put behind; for those who run it.
    pub(crate) quoted: String,
}

impl Absence {
    /// Without what is only for those who run the server.
    pub(crate) fn for_callers(&self) -> Self {
        self.brief.as_ref().unwrap_or(&self.why).clone().into()
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.why, self.quoted)
    }
}

impl From<String> for Absence {
    fn from(why: String) -> Self {
        Self { why, brief: None, quoted: String::new() }
    }
}

impl From<&str> for Absence {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_told_less_where_there_is_less_to_tell_them() {
        let absence = Absence {
            why: "exited (sandbox standard refused `/srv/x`)".to_owned(),
            brief: Some("exited (its sandbox may be the reason)".to_owned()),
            quoted: "; last stderr line: boom".to_owned(),
        };
        let whole = "exited (sandbox standard refused `/srv/x`); last stderr line: boom";
        assert_eq!(absence.to_string(), whole);
        let told = absence.for_callers();
        assert_eq!(told.to_string(), "exited (its sandbox may be the reason)");
        assert_eq!(Absence::from("is stopped").for_callers().to_string(), "is stopped");
    }
}
