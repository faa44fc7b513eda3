//! Which environment variables registered servers may refer to: those the operator names, and no others.

use super::reference::is_variable;

/// None unless said otherwise: whoever may register a server could read every variable, by having
/// it sent to himself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedVariables(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    Exactly(String),
    StartingWith(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a variable, nor the beginning of one followed by `*`")]
pub struct BadAllowance(String);

impl AllowedVariables {
    /// Names, or beginnings of names followed by `*`. There is no way to allow all.
    pub fn read<'a>(rules: impl IntoIterator<Item = &'a str>) -> Result<Self, BadAllowance> {
        let read = |rule: &str| match rule.strip_suffix('*') {
            Some(start) if is_variable(start) => Ok(Rule::StartingWith(start.to_owned())),
            None if is_variable(rule) => Ok(Rule::Exactly(rule.to_owned())),
            _ => Err(BadAllowance(rule.to_owned())),
        };
        rules.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    pub fn allows(&self, name: &str) -> bool {
        self.0.iter().any(|rule| match rule {
            Rule::Exactly(known) => known == name,
            Rule::StartingWith(start) => name.starts_with(start.as_str()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_allowed() {
        let allowed = AllowedVariables::read(["GITHUB_TOKEN", "MCP_*"]).unwrap();
        for (name, expected) in [
            ("GITHUB_TOKEN", true),
            ("MCP_KEY", true),
            ("MCP_", true),
            ("GITHUB_TOKEN_2", false),
            ("github_token", false),
            ("XMCP_KEY", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("", false),
        ] {
            assert_eq!(allowed.allows(name), expected, "{name}");
        }
        assert!(!AllowedVariables::default().allows("HOME"));
    }

    #[test]
    fn rules_that_allow_everything_or_nothing_are_refused() {
        for rule in ["*", "", "A B", "A*B", "${A}", "A**", "1*"] {
            assert_eq!(AllowedVariables::read(["OK", rule]), Err(BadAllowance(rule.to_owned())));
        }
    }
}
