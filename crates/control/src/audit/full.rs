//! `AuditFull`: what becomes of calls while nothing more can be recorded.

/// The store takes no records, and neither memory nor the spool has room for more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuditFull {
    /// They run. The records that are lost are counted, and one that is written later says how many.
    #[default]
    Drop,
    /// They wait until there is room, and are refused if that takes too long.
    Block,
    Refuse,
}

impl AuditFull {
    const ALL: [(Self, &str); 3] =
        [(Self::Drop, "drop"), (Self::Block, "block"), (Self::Refuse, "refuse")];

    pub fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text);
        found.map(|(full, _)| *full).ok_or_else(|| "must be drop, block or refuse".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_read() {
        for (full, word) in AuditFull::ALL {
            assert_eq!(AuditFull::parse(word), Ok(full));
        }
        assert!(AuditFull::parse("Drop").is_err());
    }
}
