//! What `sandbox` may say, for one server and for all.

use super::read;
use crate::config::{
    ContainerEngine, ContainerMount, ContainerRules, HostRule, NetRules, Rules, SandboxProfile,
    SandboxRules,
};

fn rules(text: &str) -> Vec<Option<SandboxRules>> {
    let config = read(text, Rules::Full).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert!(config.warnings.is_empty(), "{}", config.warnings);
    config.servers.into_iter().map(|server| server.sandbox).collect()
}

#[test]
fn profiles_and_objects_are_read() {
    let standard = SandboxProfile::Standard.rules();
    for (value, expected) in [
        (r#""off""#, SandboxProfile::Off.rules()),
        ("false", SandboxProfile::Off.rules()),
        (r#""standard""#, standard.clone()),
        (r#""strict""#, SandboxProfile::Strict.rules()),
        ("{}", standard),
        (
            r#"{"profile": "strict", "read": ["/a"], "write": ["/${API_KEY}/b", "~/c"], "net": true, "env": ["A"], "unixSockets": true}"#,
            SandboxRules {
                profile: SandboxProfile::Strict,
                read: vec!["/a".to_owned()],
                write: vec!["/s3cr3t-value/b".to_owned(), "/home/me/c".to_owned()],
                net: Some(NetRules::Everything),
                env: Some(vec!["A".to_owned()]),
                unix_sockets: true,
                container: None,
            },
        ),
        (
            r#"{"net": {"hosts": ["api.example.com:443", "*.example.com"]}}"#,
            SandboxRules {
                net: Some(NetRules::Hosts(
                    ["api.example.com:443", "*.example.com"]
                        .map(|it| HostRule::of_text(it).unwrap())
                        .to_vec(),
                )),
                ..SandboxProfile::Standard.rules()
            },
        ),
        (
            r#"{"net": false, "container": {"image": "node:22", "engine": "docker", "mounts": ["/a:/b:rw"], "network": "n"}}"#,
            SandboxRules {
                net: Some(NetRules::Nothing),
                container: Some(ContainerRules {
                    image: "node:22".to_owned(),
                    engine: Some(ContainerEngine::Docker),
                    mounts: vec![ContainerMount::of_text("/a:/b:rw").unwrap()],
                    network: Some("n".to_owned()),
                }),
                ..SandboxProfile::Standard.rules()
            },
        ),
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x", "sandbox": {value}}}}}}}"#);
        assert_eq!(rules(&text), [Some(expected)], "{value}");
    }
}

#[test]
fn what_a_server_says_goes_before_what_the_file_says() {
    let text = r#"{"sandbox": "strict", "mcpServers": {
        "a": {"command": "x"},
        "b": {"command": "x", "sandbox": "off"},
        "c": {"url": "http://h/mcp"}
    }}"#;
    let expected = [Some(SandboxProfile::Strict.rules()), Some(SandboxProfile::Off.rules()), None];
    assert_eq!(rules(text), expected);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_remedy() {
    for (value, expected) in [
        (r#""loose""#, "this `sandbox` is not known"),
        ("7", "`sandbox` must be a string or an object"),
        (r#"{"profile": "off"}"#, "this `profile` of a sandbox is not known"),
        (r#"{"read": ["relative"]}"#, "a path of a sandbox must be absolute"),
        (r#"{"net": ["h:443"]}"#, "`net` must be true, false or an object"),
        (r#"{"net": {"hosts": ["http://h"]}}"#, "a host of a sandbox is a name or an address"),
        (r#"{"container": {}}"#, "a container needs an `image`"),
        (r#"{"container": {"image": "--privileged"}}"#, "a container needs an `image`"),
        (r#"{"container": {"image": "x", "mounts": ["y"]}}"#, "`y` cannot be mounted"),
        (r#"{"container": {"image": "x", "engine": "lxc"}}"#, "this `engine` is not known"),
        (r#"{"unixSockets": "yes"}"#, "`unixSockets` must be true or false"),
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x", "sandbox": {value}}}}}}}"#);
        let problems = read(&text, Rules::Full).expect_err(value).to_string();
        assert!(problems.contains(expected), "{value}: {problems}");
    }
}

#[test]
fn a_container_may_be_said_in_short_and_without_a_command() {
    let text = r#"{"mcpServers": {"a": {"container": {"image": "x"}, "sandbox": {"net": false}}}}"#;
    let found = rules(text).remove(0).unwrap();
    assert_eq!(found.container.map(|it| it.image).as_deref(), Some("x"));
    assert_eq!(found.net, Some(NetRules::Nothing));
    let text =
        r#"{"mcpServers": {"a": {"command": "x", "container": {"image": "x"}, "sandbox": "off"}}}"#;
    assert!(read(text, Rules::Full).is_err(), "{text}");
}
