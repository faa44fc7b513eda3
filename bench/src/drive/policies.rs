//! A hundred policies as a company might have them: who may use which tools, and three that look at each call.

use std::fmt::Write as _;

/// Whatever nothing forbids, nothing that a team does not own, and no call from elsewhere, at the wrong time or to
/// a path that is nobody's business.
pub(super) fn hundred() -> String {
    let mut text = String::from(
        r#"@id("base") permit(principal, action, resource);

@id("address") forbid(principal, action == Trunkline::Action::"call", resource)
unless { context.address.isLoopback() || context.address.isInRange(ip("10.0.0.0/8")) };

@id("hours") forbid(principal, action == Trunkline::Action::"call", resource is Trunkline::Tool)
when { resource.destructiveHint && context.now.weekday > 7 };

@id("paths") forbid(principal, action == Trunkline::Action::"call", resource is Trunkline::Tool)
when { context.arguments has path && context.arguments.path like "/etc/*" };
"#,
    );
    for team in 0..48 {
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            r#"@id("team-{team}") permit(principal in Trunkline::Group::"team-{team}", action, resource in Trunkline::Server::"server-{team}");
@id("only-team-{team}") forbid(principal, action == Trunkline::Action::"call", resource == Trunkline::Tool::"server-{team}.delete")
unless {{ principal is Trunkline::User && principal in Trunkline::Group::"team-{team}" }};"#
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_a_hundred() {
        assert_eq!(hundred().matches("@id(").count(), 100);
    }
}
