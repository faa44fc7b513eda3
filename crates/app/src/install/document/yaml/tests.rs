//! Lines in and out of YAML as Goose and people write it.

use serde_json::{Value, json};

use super::YamlText;
use crate::install::document::DocumentProblem;

fn entry() -> Value {
    json!({"enabled": true, "cmd": "/bin/x", "args": ["--for", "goose"], "envs": {}})
}

const LINES: &str = "  new:\n    enabled: true\n    cmd: \"/bin/x\"\n    args:\n      - \"--for\"\n      - \"goose\"\n    envs: {}\n";

fn with(text: &str) -> Result<String, DocumentProblem> {
    let mut yaml = YamlText::parse(text)?;
    yaml.set(&["extensions", "new"], &entry())?;
    Ok(yaml.text())
}

#[test]
fn an_entry_goes_behind_the_name_of_the_object_and_comes_out_again() {
    let table = [
        ("", format!("extensions:\n{LINES}")),
        ("# mine\n", format!("# mine\nextensions:\n{LINES}")),
        ("a: 1", format!("a: 1\nextensions:\n{LINES}")),
        ("---\na: 1\n", format!("---\na: 1\nextensions:\n{LINES}")),
        ("extensions:\n", format!("extensions:\n{LINES}")),
        ("extensions: {} # none\nb: 1\n", format!("extensions: # none\n{LINES}b: 1\n")),
        (
            "extensions:\n  # first\n  a:\n    cmd: x\n\n  # second\n  b: {cmd: y}\nz: |\n  # text\n",
            format!(
                "extensions:\n{LINES}  # first\n  a:\n    cmd: x\n\n  # second\n  b: {{cmd: y}}\nz: |\n  # text\n"
            ),
        ),
    ];
    for (before, after) in table {
        assert_eq!(with(before).unwrap(), after, "{before:?}");
        let mut yaml = YamlText::parse(&after).unwrap();
        yaml.remove(&["extensions", "new"]).unwrap();
        assert_eq!(yaml.get(&["extensions", "new"]), None);
        if before.contains("a:\n") {
            assert_eq!(yaml.text(), before);
        }
    }
}

#[test]
fn other_indents_line_ends_and_marks_are_kept() {
    let deep = with("extensions:\n    a:\n        cmd: x\n").unwrap();
    assert!(deep.starts_with("extensions:\n    new:\n      enabled: true\n"), "{deep}");
    let windows = with("\u{FEFF}extensions:\r\n  a:\r\n    cmd: x\r\n").unwrap();
    assert_eq!(windows.matches('\n').count(), windows.matches("\r\n").count());
    assert!(windows.starts_with("\u{FEFF}extensions:\r\n  new:\r\n"), "{windows:?}");
}

#[test]
fn one_value_of_an_entry_is_changed_and_its_neighbours_stay() {
    let text = "extensions:\n  new:\n    # by hand\n    cmd: old\n    args:\n    - a\n\n    timeout: 5 # mine\n  b:\n    cmd: y\n";
    let mut yaml = YamlText::parse(text).unwrap();
    yaml.set(&["extensions", "new", "cmd"], &json!("x")).unwrap();
    yaml.set(&["extensions", "new", "args"], &json!(["b", "c"])).unwrap();
    yaml.set(&["extensions", "new", "enabled"], &json!(true)).unwrap();
    assert_eq!(
        yaml.text(),
        "extensions:\n  new:\n    enabled: true\n    # by hand\n    cmd: \"x\"\n    args:\n      - \"b\"\n      - \"c\"\n\n    timeout: 5 # mine\n  b:\n    cmd: y\n"
    );
}

#[test]
fn what_leaves_takes_nothing_of_its_neighbours_along() {
    let text = "extensions:\n  a:\n    description: |\n      # not a comment\n\n      text\n\n  # of b\n  b:\n    cmd: y\nz: 1\n";
    let mut yaml = YamlText::parse(text).unwrap();
    yaml.remove(&["extensions", "a"]).unwrap();
    assert_eq!(yaml.text(), "extensions:\n\n  # of b\n  b:\n    cmd: y\nz: 1\n");
    yaml.remove(&["extensions", "b"]).unwrap();
    assert_eq!(yaml.get(&["extensions"]), Some(json!({})));
    assert!(yaml.holds_nothing(&["extensions"]));
    yaml.remove(&["extensions"]).unwrap();
    assert_eq!(yaml.get(&[]), Some(json!({"z": 1})));
}

#[test]
fn a_part_is_taken_over_to_the_byte() {
    let older = "a: 1\nextensions:\n  x:  {cmd: y} # so\n# end\n";
    let mut yaml = YamlText::parse("a: 2\nextensions:\n  new:\n    cmd: z\nb: 3\n").unwrap();
    yaml.adopt(&YamlText::parse(older).unwrap(), &["extensions"]).unwrap();
    assert_eq!(yaml.text(), "a: 2\nextensions:\n  x:  {cmd: y} # so\nb: 3\n");
    yaml.adopt(&YamlText::parse("a: 1\n").unwrap(), &["extensions"]).unwrap();
    assert_eq!(yaml.text(), "a: 2\nb: 3\n");
}

#[test]
fn what_is_written_in_another_way_is_refused_and_not_spoilt() {
    for text in [
        "{extensions: {a: {cmd: x}}}\n",
        "extensions: {a: {cmd: x}}\n",
        "extensions:\n  {a: {cmd: x}}\n",
        "a: 1\n...\n",
        "a: 1\n---\nb: 2\n",
        "extensions: null\n",
    ] {
        assert_eq!(with(text), Err(DocumentProblem::Unusual), "{text:?}");
    }
    for text in ["extensions: [a]\n", "extensions: text\n"] {
        assert_eq!(with(text), Err(DocumentProblem::NotAnObject { key: "extensions".to_owned() }));
    }
    assert_eq!(with("[a]\n"), Err(DocumentProblem::NotAnObject { key: String::new() }));
    assert!(matches!(with("a: [x\nb: 1\n"), Err(DocumentProblem::Syntax { .. })));
    let twice = with("s3cret: 1\ns3cret: 2\n");
    assert!(
        matches!(twice, Err(DocumentProblem::Syntax { problem, .. }) if !problem.contains("s3cret"))
    );
}

#[test]
fn an_item_of_a_list_leaves_by_its_name() {
    let text = "a: 1\nlist:\n  # one\n  - name: x\n    args:\n      - y\n\n  # two\n  - name: z # so\n    env: {A: b}\n# end\nb: 2\n";
    let without = |names: &[&str]| {
        let mut yaml = YamlText::parse(text).unwrap();
        names.iter().for_each(|name| yaml.remove(&["list", name]).unwrap());
        yaml.text()
    };
    assert_eq!(without(&["none"]), text);
    assert_eq!(
        without(&["x"]),
        "a: 1\nlist:\n  # two\n  - name: z # so\n    env: {A: b}\n# end\nb: 2\n"
    );
    assert_eq!(
        without(&["z"]),
        "a: 1\nlist:\n  # one\n  - name: x\n    args:\n      - y\n\n# end\nb: 2\n"
    );
    assert_eq!(without(&["x", "z"]), "a: 1\nlist: []\n# end\nb: 2\n");
    let mut flat = YamlText::parse("list:\n- name: x\n- name: y\n").unwrap();
    flat.remove(&["list", "x"]).unwrap();
    assert_eq!(flat.text(), "list:\n- name: y\n");
    let mut odd = YamlText::parse("list: [{name: x}]\n").unwrap();
    assert_eq!(odd.remove(&["list", "x"]), Err(DocumentProblem::Unusual));
}
