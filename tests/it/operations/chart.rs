//! The Helm chart: rendered with the few words of the template language that it uses, and read as Kubernetes would.
//!
//! Helm itself is not among the programs of these tests. A template that uses a word which `render` does not know fails
//! here, so that the chart stays within what is checked.

use std::collections::BTreeSet;

use yaml_rust2::{Yaml, YamlEmitter, YamlLoader};

use super::maintain;
use super::observability::packaging;

fn values() -> Yaml {
    load(&read("values.yaml")).remove(0)
}

fn read(name: &str) -> String {
    let path = packaging("helm/trunkline").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn load(text: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// The value that stands at this path.
fn at<'a>(yaml: &'a Yaml, path: &str) -> &'a Yaml {
    path.split('.').filter(|part| !part.is_empty()).fold(yaml, |at, part| {
        match part.parse::<usize>() {
            Ok(place) => &at.as_vec().unwrap_or_else(|| panic!("no list at {path}"))[place],
            Err(_) => &at[part],
        }
    })
}

fn is_true(yaml: &Yaml) -> bool {
    match yaml {
        Yaml::Boolean(value) => *value,
        Yaml::String(text) => !text.is_empty(),
        Yaml::Array(all) => !all.is_empty(),
        Yaml::Hash(all) => !all.is_empty(),
        Yaml::Integer(value) => *value != 0,
        _ => false,
    }
}

fn plain(yaml: &Yaml) -> String {
    match yaml {
        Yaml::String(text) | Yaml::Real(text) => text.clone(),
        Yaml::Integer(value) => value.to_string(),
        Yaml::Boolean(value) => value.to_string(),
        other => panic!("{other:?} is not one value"),
    }
}

fn emitted(yaml: &Yaml) -> String {
    let mut text = String::new();
    YamlEmitter::new(&mut text).dump(yaml).expect("it can be written");
    text.trim_start_matches("---\n").to_owned()
}

/// One expression: a path, `quote`, `toYaml`, `nindent`.
fn evaluate(expression: &str, values: &Yaml, item: Option<&Yaml>) -> String {
    let mut parts = expression.split('|').map(str::trim);
    let first = parts.next().expect("an expression");
    let (first, is_yaml) = match first.strip_prefix("toYaml ") {
        Some(rest) => (rest.trim(), true),
        None => (first, false),
    };
    let mut text = match (first, item) {
        (".Release.Name", _) => "line".to_owned(),
        (".Chart.AppVersion", _) => plain(at(&load(&read("Chart.yaml"))[0], "appVersion")),
        (".", Some(item)) => plain(item),
        _ => {
            let path = first.strip_prefix(".Values.").unwrap_or_else(|| panic!("unknown: {first}"));
            let value = at(values, path);
            assert!(!value.is_badvalue(), "there is no value {path}");
            if is_yaml { emitted(value) } else { plain(value) }
        }
    };
    for filter in parts {
        text = match filter.split_once(' ') {
            None if filter == "quote" => format!("{text:?}"),
            Some(("nindent", width)) => {
                let indent = " ".repeat(width.parse().expect("a width"));
                text.lines().map(|line| format!("\n{indent}{line}")).collect()
            }
            _ => panic!("unknown: {filter}"),
        };
    }
    text
}

/// A block that is open: is it shown, and for which items is what was collected repeated?
struct Block<'v> {
    is_shown: bool,
    items: Option<&'v [Yaml]>,
    /// What was written before it.
    before: String,
    /// The text of what is repeated.
    body: String,
}

fn render(template: &str, values: &Yaml) -> String {
    let (mut out, mut rest) = (String::new(), template);
    let mut blocks: Vec<Block<'_>> = Vec::new();
    while let Some((text, behind)) = rest.split_once("{{") {
        let (inside, mut after) = behind.split_once("}}").expect("a closing brace");
        let trims = inside.starts_with('-');
        let inside = inside.trim_start_matches('-');
        if let Some(inside) = inside.strip_suffix('-') {
            after = after.trim_start();
            assert!(!inside.is_empty());
        }
        let inside = inside.trim_end_matches('-').trim();
        let text = if trims { text.trim_end() } else { text };
        let in_range = blocks.last().is_some_and(|block| block.items.is_some());
        match blocks.last_mut().filter(|_| in_range) {
            Some(block) => block.body.push_str(text),
            None => out.push_str(text),
        }
        match inside.split_once(' ') {
            Some(("if", path)) => {
                let path = path.strip_prefix(".Values.").expect("a value");
                let (is_shown, before) = (is_true(at(values, path)), std::mem::take(&mut out));
                blocks.push(Block { is_shown, items: None, before, body: String::new() });
            }
            Some(("range", path)) => {
                let path = path.strip_prefix(".Values.").expect("a value");
                let items = at(values, path).as_vec().expect("a list").as_slice();
                let before = std::mem::take(&mut out);
                blocks.push(Block {
                    is_shown: true,
                    items: Some(items),
                    before,
                    body: String::new(),
                });
            }
            _ if inside == "end" => {
                let block = blocks.pop().expect("an open block");
                let inner = std::mem::replace(&mut out, block.before);
                match block.items {
                    None if block.is_shown => out.push_str(&inner),
                    None => {}
                    Some(items) => {
                        for item in items {
                            out.push_str(&repeated(&block.body, values, item));
                        }
                    }
                }
            }
            _ => match blocks.last_mut().filter(|_| in_range) {
                Some(block) => block.body.push_str(&format!("{{{{ {inside} }}}}")),
                None => out.push_str(&evaluate(inside, values, None)),
            },
        }
        rest = after;
    }
    assert!(blocks.is_empty(), "a block is not closed");
    out + rest
}

fn repeated(body: &str, values: &Yaml, item: &Yaml) -> String {
    let (mut out, mut rest) = (String::new(), body);
    while let Some((text, behind)) = rest.split_once("{{") {
        let (inside, after) = behind.split_once("}}").expect("a closing brace");
        out.push_str(text);
        out.push_str(&evaluate(inside.trim(), values, Some(item)));
        rest = after;
    }
    out + rest
}

/// Everything that the chart makes of these values.
fn rendered(values: &Yaml) -> Vec<Yaml> {
    let dir = packaging("helm/trunkline/templates");
    let mut all = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(dir).expect("templates").flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    for file in files {
        let text = std::fs::read_to_string(file.path()).expect("a template");
        let text = render(&text, values);
        if file.path().extension().is_some_and(|ending| ending == "yaml") {
            all.extend(load(&text).into_iter().filter(|yaml| !yaml.is_null()));
        }
    }
    all
}

fn set(values: &str, from: &str, to: &str) -> String {
    assert!(values.contains(from), "{from}");
    values.replacen(from, to, 1)
}

/// With everything that is off by default.
fn all_on() -> Yaml {
    let text = read("values.yaml").replace("enabled: false", "enabled: true");
    let text = set(&text, "publicUrl: \"\"", "publicUrl: https://mcp.example.com");
    let text = set(&text, "extraArgs: []", "extraArgs: [\"--audit-keep\", \"90d\"]");
    let text = set(&text, "storageClass: \"\"", "storageClass: fast");
    let text = set(&text, "className: \"\"", "className: nginx");
    let text = set(&text, "tlsSecretName: \"\"", "tlsSecretName: tls");
    load(&text).remove(0)
}

fn kinds(all: &[Yaml]) -> Vec<&str> {
    all.iter().map(|yaml| yaml["kind"].as_str().expect("a kind")).collect()
}

fn find<'a>(all: &'a [Yaml], kind: &str) -> &'a Yaml {
    all.iter()
        .find(|yaml| yaml["kind"].as_str() == Some(kind))
        .unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn the_chart_makes_three_replicas_with_what_they_need() {
    let all = rendered(&values());
    let expected = ["NetworkPolicy", "PodDisruptionBudget", "Service", "Service", "StatefulSet"];
    assert_eq!(kinds(&all), expected);
    for yaml in &all {
        let version = yaml["apiVersion"].as_str().expect("a version");
        assert!(version == "v1" || version.ends_with("/v1"), "{version}");
        assert!(yaml["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("line")));
    }
    let set = find(&all, "StatefulSet");
    assert_eq!(at(set, "spec.replicas").as_i64(), Some(3));
    let pod = at(set, "spec.template.spec");
    let container = at(pod, "containers.0");
    let grace = at(pod, "terminationGracePeriodSeconds").as_i64().expect("seconds");
    let drain = at(container, "lifecycle.preStop.exec.command.1").as_str().expect("seconds");
    assert!(drain.parse::<i64>().expect("a number") < grace);
    assert_eq!(at(container, "readinessProbe.httpGet.path").as_str(), Some("/readyz"));
    assert_eq!(at(container, "livenessProbe.httpGet.path").as_str(), Some("/healthz"));
    // What selects pods selects these, and secrets come from the secret alone.
    let labels = at(set, "spec.template.metadata.labels");
    for selector in [
        at(set, "spec.selector.matchLabels"),
        at(find(&all, "PodDisruptionBudget"), "spec.selector.matchLabels"),
        at(find(&all, "Service"), "spec.selector"),
        at(find(&all, "NetworkPolicy"), "spec.podSelector.matchLabels"),
    ] {
        assert_eq!(selector, labels);
    }
    let env = at(container, "env").as_vec().expect("variables");
    let from_secret: BTreeSet<_> = env
        .iter()
        .filter(|variable| !variable["valueFrom"]["secretKeyRef"].is_badvalue())
        .filter_map(|variable| variable["name"].as_str())
        .collect();
    let expected = ["TRUNKLINE_STORE", "TRUNKLINE_KEY", "TRUNKLINE_ADMIN_TOKEN"];
    assert_eq!(from_secret, BTreeSet::from(expected));
    let mounts = at(container, "volumeMounts").as_vec().expect("mounts");
    let data = mounts.iter().any(|mount| mount["mountPath"].as_str() == Some("/var/lib/trunkline"));
    assert!(data && !at(set, "spec.volumeClaimTemplates.0").is_badvalue());
}

#[test]
fn with_everything_on_there_is_an_ingress_and_a_monitor_of_every_pod() {
    let all = rendered(&all_on());
    for kind in ["Ingress", "ServiceMonitor"] {
        find(&all, kind);
    }
    let monitor = find(&all, "ServiceMonitor");
    let wanted = at(monitor, "spec.selector.matchLabels");
    let services = all.iter().filter(|yaml| yaml["kind"].as_str() == Some("Service"));
    let chosen: Vec<_> = services.filter(|it| it["metadata"]["labels"] == *wanted).collect();
    assert_eq!(chosen.len(), 1);
    assert_eq!(chosen[0]["spec"]["clusterIP"].as_str(), Some("None"), "each pod, not one of them");
    let class = at(find(&all, "StatefulSet"), "spec.volumeClaimTemplates.0.spec.storageClassName");
    assert_eq!(class.as_str(), Some("fast"));
}

#[test]
fn the_program_knows_every_argument_of_the_chart() {
    let help = maintain(&["serve", "--help"]);
    for values in [values(), all_on()] {
        let all = rendered(&values);
        let args = at(find(&all, "StatefulSet"), "spec.template.spec.containers.0.args");
        let args = args.as_vec().expect("arguments").iter().map(plain);
        let flags: Vec<_> = args.filter(|argument| argument.starts_with("--")).collect();
        assert!(flags.len() >= 4, "{flags:?}");
        for flag in flags {
            let name = flag.split('=').next().unwrap_or_default();
            assert!(help.text().contains(name), "{name}");
        }
    }
}
