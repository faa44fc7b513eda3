//! The walls around a registered server as JSON: as the API shows and takes them, and as they are kept.

use serde_json::{Map, Value, json};
use trunkline_catalog::config::{
    ContainerEngine, ContainerMount, ContainerRules, HostRule, NetRules, SandboxProfile,
    SandboxRules, is_image,
};

/// What is wrong with a sandbox, and in which member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSandbox {
    /// The members on the way to it.
    pub at: &'static [&'static str],
    pub message: &'static str,
}

/// A word where the profile says all, else an object.
pub fn sandbox_json(rules: &SandboxRules) -> Value {
    if *rules == rules.profile.rules() {
        return rules.profile.word().into();
    }
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    put("profile", rules.profile.word().into());
    for (name, paths) in [("read", &rules.read), ("write", &rules.write)] {
        if !paths.is_empty() {
            put(name, json!(paths));
        }
    }
    match &rules.net {
        None => {}
        Some(NetRules::Nothing) => put("net", false.into()),
        Some(NetRules::Everything) => put("net", true.into()),
        Some(NetRules::Hosts(hosts)) => {
            let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            put("net", json!({ "hosts": hosts }));
        }
    }
    if let Some(names) = &rules.env {
        put("env", json!(names));
    }
    if rules.unix_sockets {
        put("unix_sockets", true.into());
    }
    if let Some(container) = &rules.container {
        put("container", container_json(container));
    }
    members.into()
}

fn container_json(container: &ContainerRules) -> Value {
    let mounts: Vec<String> = container.mounts.iter().map(ToString::to_string).collect();
    let mut members = Map::new();
    members.insert("image".to_owned(), container.image.clone().into());
    members.extend(container.engine.map(|it| ("engine".to_owned(), it.word().into())));
    members.extend((!mounts.is_empty()).then(|| ("mounts".to_owned(), json!(mounts))));
    let network = container.network.as_ref();
    members.extend(network.map(|it| ("network".to_owned(), it.clone().into())));
    members.into()
}

/// The way back.
pub fn read_sandbox(value: &Value) -> Result<SandboxRules, BadSandbox> {
    let bad = |at, message| BadSandbox { at, message };
    let members = match value {
        Value::String(word) => {
            let profile = SandboxProfile::of_word(word);
            return profile
                .map(SandboxProfile::rules)
                .ok_or(bad(&[], "must be off, standard, strict or an object"));
        }
        Value::Object(members) => members,
        _ => return Err(bad(&[], "must be off, standard, strict or an object")),
    };
    let profile = match members.get("profile") {
        None => SandboxProfile::Standard,
        Some(word) => word
            .as_str()
            .and_then(SandboxProfile::of_word)
            .filter(|it| *it != SandboxProfile::Off)
            .ok_or(bad(&["profile"], "must be standard or strict"))?,
    };
    let is_path = |path: &String| path.starts_with('/') && !path.contains('\0');
    let paths = |name: &str, at| {
        let paths = texts(members.get(name));
        match paths.iter().all(is_path) {
            true => Ok(paths),
            false => Err(bad(at, "must be absolute paths")),
        }
    };
    let env = members.get("env").filter(|it| !it.is_null()).map(|it| texts(Some(it)));
    let container = members.get("container").filter(|it| !it.is_null());
    Ok(SandboxRules {
        profile,
        read: paths("read", &["read"])?,
        write: paths("write", &["write"])?,
        net: net(members.get("net"))?,
        env,
        unix_sockets: members.get("unix_sockets") == Some(&Value::Bool(true)),
        container: container.map(read_container).transpose()?,
    })
}

fn net(value: Option<&Value>) -> Result<Option<NetRules>, BadSandbox> {
    let hosts = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Bool(true)) => return Ok(Some(NetRules::Everything)),
        Some(Value::Bool(false)) => return Ok(Some(NetRules::Nothing)),
        Some(other) => texts(other.get("hosts")),
    };
    let hosts: Option<Vec<HostRule>> = hosts.iter().map(|it| HostRule::of_text(it)).collect();
    let message = "must be hosts: api.example.com:443, *.example.com or 10.0.0.7:8080";
    hosts.map(|it| Some(NetRules::Hosts(it))).ok_or(BadSandbox { at: &["net", "hosts"], message })
}

fn read_container(value: &Value) -> Result<ContainerRules, BadSandbox> {
    let text = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let image = text("image").filter(|it| is_image(it));
    let bad_image = BadSandbox { at: &["container", "image"], message: "must be an image" };
    let mounts: Option<Vec<ContainerMount>> =
        texts(value.get("mounts")).iter().map(|it| ContainerMount::of_text(it)).collect();
    let message = "must be /path, /path:/target or /path:/target:rw";
    Ok(ContainerRules {
        image: image.ok_or(bad_image)?,
        engine: text("engine").and_then(|it| ContainerEngine::of_word(&it)),
        mounts: mounts.ok_or(BadSandbox { at: &["container", "mounts"], message })?,
        network: text("network").filter(|it| is_image(it)),
    })
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again() {
        for value in [
            json!("off"),
            json!("standard"),
            json!("strict"),
            json!({ "profile": "strict", "read": ["/a"], "write": ["/b"], "net": true, "env": [] }),
            json!({ "profile": "standard", "net": { "hosts": ["a.b:443", "*.a.b"] }, "unix_sockets": true }),
            json!({ "profile": "standard", "net": false,
                "container": { "image": "i", "engine": "docker", "mounts": ["/a:/b:rw"], "network": "n" } }),
        ] {
            let rules = read_sandbox(&value).unwrap_or_else(|bad| panic!("{value}: {bad:?}"));
            assert_eq!(sandbox_json(&rules), value);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        for (value, at) in [
            (json!(7), &[][..]),
            (json!("loose"), &[]),
            (json!({ "profile": "off" }), &["profile"]),
            (json!({ "read": ["a"] }), &["read"]),
            (json!({ "net": { "hosts": ["*"] } }), &["net", "hosts"]),
            (json!({ "container": {} }), &["container", "image"]),
            (json!({ "container": { "image": "a", "mounts": ["b"] } }), &["container", "mounts"]),
        ] {
            assert_eq!(read_sandbox(&value).map_err(|bad| bad.at), Err(at), "{value}");
        }
    }
}
