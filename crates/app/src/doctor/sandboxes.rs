//! Checks that this kernel can hold the walls that servers are to have.

use trunkline_catalog::config::{SandboxProfile, ServerSpec};
use trunkline_keeper::{Support, support};

use super::finding::{Finding, Grade};

pub(crate) fn sandboxes(servers: &[ServerSpec]) -> Vec<Finding> {
    look(servers, support())
}

fn look(servers: &[ServerSpec], support: Support) -> Vec<Finding> {
    let Some(gap) = support.gap() else { return Vec::new() };
    let walled = servers.iter().filter_map(|server| {
        let profile = server.sandbox.as_ref()?.profile;
        (profile != SandboxProfile::Off && !server.disabled).then_some((server, profile))
    });
    let finding = |(server, profile): (&ServerSpec, SandboxProfile)| {
        let is_refused = profile == SandboxProfile::Strict && !support.is_full();
        let grade = if is_refused { Grade::Error } else { Grade::Warning };
        let fix = match is_refused {
            true => "it will not start: use a newer kernel, or \"sandbox\": \"standard\"",
            false => "use a newer kernel",
        };
        Finding::new(grade, "sandbox", &server.key, gap.to_owned()).fix(fix)
    };
    walled.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::{ConfigSource, Rules, load};

    use super::*;

    #[test]
    fn what_the_kernel_cannot_hold_is_found() {
        let text = br#"{"mcpServers": {
            "a": {"command": "x", "sandbox": "strict"},
            "b": {"command": "x", "sandbox": "standard"},
            "c": {"command": "x"}
        }}"#;
        let source = ConfigSource { name: "c", text };
        let servers = load(&source, Rules::Full, &|_| None).unwrap().servers;
        let weak = Support { landlock: None, notices: true };
        let found = look(&servers, weak);
        let found: Vec<_> = found.iter().map(|it| (it.about.as_str(), it.grade)).collect();
        assert_eq!(found, [("a", Grade::Error), ("b", Grade::Warning)]);
        let strong = Support { landlock: Some(7), notices: true };
        assert_eq!(look(&servers, strong), []);
    }
}
