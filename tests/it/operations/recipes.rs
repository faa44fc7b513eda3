//! The compose file and its balancer.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use kit::run;
use yaml_rust2::{Yaml, YamlLoader};

use super::maintain;
use super::observability::packaging;

fn read(name: &str) -> String {
    let path = packaging("compose").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The anchor of the replicas, and all services.
fn compose() -> (Yaml, Yaml) {
    let mut all = YamlLoader::load_from_str(&read("compose.yaml")).expect("YAML");
    let all = all.remove(0);
    (all["x-replica"].clone(), all["services"].clone())
}

fn replicas(services: &Yaml) -> Vec<(&str, &Yaml)> {
    let all = services.as_hash().expect("services").iter();
    let named = all.filter_map(|(name, service)| Some((name.as_str()?, service)));
    named.filter(|(name, _)| name.starts_with("trunkline")).collect()
}

#[test]
fn each_of_three_replicas_has_a_data_directory_of_its_own_and_the_same_secrets() {
    let (replica, services) = compose();
    let three = replicas(&services);
    assert_eq!(three.len(), 3);
    let volumes: BTreeSet<_> = three
        .iter()
        .map(|(_, service)| service["volumes"][0].as_str().expect("a volume"))
        .collect();
    assert_eq!(volumes.len(), 3, "{volumes:?}");
    let variables: Vec<_> = ["TRUNKLINE_STORE", "TRUNKLINE_KEY", "TRUNKLINE_ADMIN_TOKEN"]
        .map(|name| replica["environment"][name].as_str().expect("a variable").to_owned())
        .to_vec();
    let example = read("environment.example");
    for variable in variables {
        let (_, rest) = variable.split_once("${").expect("from the environment");
        let (name, _) = rest.split_once(':').expect("it has to be set");
        assert!(example.contains(&format!("{name}=\n")), "{name} has no value in the example");
    }
    let help = maintain(&["serve", "--help"]);
    for argument in replica["command"].as_vec().expect("a command") {
        let argument = argument.as_str().expect("a word");
        let name = argument.split('=').next().unwrap_or_default();
        assert!(!name.starts_with("--") || help.text().contains(name), "{name}");
    }
}

#[test]
fn haproxy_reads_the_balancers_configuration_and_it_names_every_replica() {
    let place = "/usr/sbin/haproxy";
    let mut haproxy = Command::new(if Path::new(place).exists() { place } else { "haproxy" });
    haproxy.arg("-c").arg("-f").arg(packaging("compose/haproxy.cfg"));
    let done = run::run(haproxy, b"");
    assert_eq!(done.code, Some(0), "{done}");
    let (_, services) = compose();
    let config = read("haproxy.cfg");
    for (name, _) in replicas(&services) {
        assert!(config.contains(&format!("server {name} {name}:3006")), "{name}");
    }
}
