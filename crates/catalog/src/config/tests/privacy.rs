//! No value of the environment and no literal secret is ever shown.

use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_oneof, proptest};

use super::{environment, read, rendered, server};
use crate::config::Rules::{Full, Simple};
use crate::config::{ConfigSource, Rules, Style, load};

/// The only quoted line of the only problem.
fn quoted(text: &str, rules: Rules) -> String {
    let shown = rendered(text, rules);
    let line = shown.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    line.and_then(|line| line.split_once(" | ")).map(|(_, line)| line.to_owned()).expect("a line")
}

#[test]
fn literal_values_are_masked_and_references_stay() {
    let table = [
        (
            r#""env": {"A": "secret", "B": "x${U}y", "C": "${U:-dflt}"}"#,
            r#""env": {"A": "******", "B": "*${U}*", "C": "${U:-****}"}"#,
        ),
        (r#""env": {"A": "é\n\"x", "B": "$U"}"#, r#""env": {"A": "******", "B": "$U"}"#),
        (r#""env": {"A": "p${w", "B": "$U"}"#, r#""env": {"A": "*${*", "B": "$U"}"#),
        // What every program has is no secret, unless it looks like one.
        (
            r#""env": {"HOME": "/home/me/x", "TZ": "ghp_16C7e42F292c6912E771", "B": "$U"}"#,
            r#""env": {"HOME": "/home/me/x", "TZ": "************************", "B": "$U"}"#,
        ),
        (r#""args": ["$U", "--port", "80"]"#, r#""args": ["$U", "--port", "80"]"#),
        (
            r#""args": ["$U", "ghp_16C7e42F292c6912E771"]"#,
            r#""args": ["$U", "************************"]"#,
        ),
        (
            r#""cwd": "$U", "apiKey": "abc", "timeout": 5"#,
            r#""cwd": "$U", "apiKey": "***", "timeout": 5"#,
        ),
        (
            r#""cwd": "$U", "auth": {"CLIENT_SECRET": 77}"#,
            r#""cwd": "$U", "auth": {"CLIENT_SECRET": **}"#,
        ),
        (r#""cwd": "$U" /* was sk-1 */"#, r#""cwd": "$U" **************"#),
        (
            r#""args": ["--header", "Authorization: Bearer s3kr1t", "$U"]"#,
            r#""args": ["--header", "****************************", "$U"]"#,
        ),
        (
            r#""args": ["--token", "s3kr1tvalue", "--password=hunter2", "$U"]"#,
            r#""args": ["--token", "***********", "--password=*******", "$U"]"#,
        ),
        (r#""args": ["--pin", 1234, "$U", 80]"#, r#""args": ["--pin", ****, "$U", **]"#),
        (
            r#""args": ["-y", "@scope/pkg", "pg://me:pw@db/x", "$U/x"]"#,
            r#""args": ["-y", "@scope/pkg", "***************", "$U/x"]"#,
        ),
        (
            r#""args": "$U --key ${K:-abc} x", "note": "hello""#,
            r#""args": "$U --key ${K:-***} *", "note": "*****""#,
        ),
        (
            r#""cwd": "$U", "enviroment": {"A": "hunter2"}, "header": {"B": "x"}"#,
            r#""cwd": "$U", "enviroment": {"A": "*******"}, "header": {"B": "*"}"#,
        ),
        (
            r#""cwd": "$U", "env": {"Authorization: Bearer x": "y"}"#,
            r#""cwd": "$U", "env": {"Authorization: ********": "*"}"#,
        ),
        (
            r#""cwd": "$U", "hiddenTools": ["drop_table", "sk-abcdefgh"], "type": "stdio""#,
            r#""cwd": "$U", "hiddenTools": ["drop_table", "***********"], "type": "stdio""#,
        ),
    ];
    for (members, expected) in table {
        let line = quoted(
            &format!("{{\"mcpServers\": {{\"s\": {{\"command\": \"a\",\n{members}\n}}}}}}"),
            Full,
        );
        assert_eq!(line, expected);
    }
    let remote = "{\"mcpServers\": {\"s\": {\"url\": \"http://h\",\n\"headers\": {\"A\": \"Bearer x\", \"B\": \"$U\"}\n}}}";
    assert_eq!(quoted(remote, Full), "\"headers\": {\"A\": \"********\", \"B\": \"$U\"}");
    let query = r#"{"mcpServers": {"s": {"url": "https://h/sse?api_key=0f8f", "share": 5}}}"#;
    let expected = r#"{"mcpServers": {"s": {"url": "https://h/sse?************", "share": 5}}}"#;
    assert_eq!(quoted(query, Full), expected);
}

#[test]
fn a_secret_pasted_as_a_key_is_in_no_message_and_no_path() {
    let table = [
        (r#""command": "a", "Authorization: Bearer hunter2": "", "envs": 5"#, "Authorization: ***"),
        (r#""command": "a", "env": {"DB_PASS=hunter2": ""}"#, "DB_PASS=***"),
        (r#""command": "a", "env": {"T=hunter2": "$UNSET", "T=hunter2": ""}"#, "T=***"),
        (r#""url": "http://h", "headers": {"X-Api-Key: hunter2": 5}"#, "X-Api-Key: ***"),
        (r#""url": "http://h", "headers": {"Bearer hunter2": null}"#, "***"),
    ];
    for (members, expected) in table {
        for rules in [Full, Simple] {
            let shown = everything(server(members).as_bytes(), rules);
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(shown.contains(expected), "{shown}");
        }
    }
}

/// Every place where a secret was ever seen in a file, with an error beside it.
#[test]
fn no_line_shows_a_secret_wherever_it_stands() {
    let secrets = ["hunter2", "s3kr1t-abc-def", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"];
    let places = [
        r#""command": "npx", "args": ["--header", "Authorization: Bearer %", 5]"#,
        r#""command": "npx", "args": ["X-Api-Key: %", 5]"#,
        r#""command": "npx", "args": ["--token", "%", 5]"#,
        r#""command": "npx", "args": ["--token=%", 5]"#,
        r#""command": "npx", "args": ["-e", "TOKEN=%", 5]"#,
        r#""command": "npx", "args": ["-p%", 5]"#,
        r#""command": "npx", "args": ["pg://me:%@db/x", 5]"#,
        r#""command": "npx", "args": ["https://h/x?key=%", "https://me:%@h", 5]"#,
        r#""command": "npx --token %", "args": 5"#,
        r#""command": ["npx", "--token", "%"]"#,
        r#""command": "npx", "args": "--token %""#,
        r#""command": "npx", "args": {"--token": "%"}"#,
        r#""command": "npx", "enviroment": {"A": "%"}, "share": 5"#,
        r#""command": "npx", "env": ["A=%"]"#,
        r#""command": "npx", "header": {"A": {"B": ["%"]}}, "share": 5"#,
        r#""command": "npx", "note": "%", "share": 5"#,
        r#""command": "npx", "pwd": "%", "share": 5"#,
        r#""url": "https://h/sse?token=%", "share": 5"#,
        r#""url": "https://h/sse#%", "share": 5"#,
        r#""url": "https://me:%@h/sse""#,
        r#""serverUrl": "ftp://h/%", "headers": "%""#,
        r#""uri": "https://h/?%""#,
    ];
    for secret in secrets {
        for place in places {
            let members = place.replace('%', secret);
            for rules in [Full, Simple] {
                let shown = everything(server(&members).as_bytes(), rules);
                assert!(!shown.contains(secret), "{members}\n{shown}");
            }
        }
    }
}

#[test]
fn a_broken_file_shows_keys_and_the_place_of_the_error() {
    let table = [
        (r#""A": "secret", "B" "other" }"#, r#""A": "******", "B" "*****" }"#),
        (r#""A": "secret" "B": "other" }"#, r#""A": "******" "B": "*****" }"#),
        (r#""A": "sec\ret\q12", "B": "x" }"#, r#""A": "*******\q**", "B": "*" }"#),
        (r#""A": "sec"ret", "B": "x" }"#, r#""A": "***"r**"**"*"**"*"**"#),
        (r#""A": secret, "B": "x" }"#, r#""A": s*****, "B": "*" }"#),
        (r#""A": 'secret', "B": "x" }"#, r#""A": '*******, "B": "*" }"#),
        (r#""A": "secret"#, r#""A": "******"#),
        (r#""A": 12345678901234, B "#, r#""A": **************, B "#),
        (r#""A": 0123456789abcdef "#, r#""A": 0*************** "#),
        (r#""Cookie: a=b" 5"#, r#""Cookie: ***" 5"#),
    ];
    for (line, expected) in table {
        assert_eq!(quoted(&format!("{{\n{line}\n"), Full), expected);
    }
    let not_utf8 = b"{\"TOKEN\": \"secret\", \"\xff\": }";
    let problems =
        load(&ConfigSource { name: "f", text: not_utf8 }, Full, &environment).unwrap_err();
    assert!(!problems.render(Style::Plain).contains("secret"));
}

#[test]
fn expanded_values_are_in_no_debug_output() {
    let text = server(
        r#""command": "$API_KEY", "args": ["$API_KEY"], "env": {"A": "$API_KEY"}, "cwd": "$API_KEY", "timeout": "$API_KEY""#,
    );
    let config = read(&text, Full).unwrap();
    let shown = format!("{config:?}");
    assert!(!shown.contains("s3cr3t") && shown.contains("API_KEY"), "{shown}");
    let text = server(r#""url": "$URL/$API_KEY", "headers": {"A": "$API_KEY"}"#);
    let shown = format!("{:?}", read(&text, Full).unwrap());
    assert!(!shown.contains("s3cr3t") && !shown.contains("example.com"), "{shown}");
    // An expanded URL with an error, a header with a line break, an empty command: never the value.
    for members in [r#""url": "$API_KEY""#, r#""command": "$API_KEY", "args": ["$NUL"]"#] {
        let problems = read(&server(members), Full).unwrap_err();
        let all = format!(
            "{problems} {problems:?} {} {}",
            problems.render(Style::Plain),
            problems.to_json()
        );
        assert!(!all.contains("s3cr3t") && !all.contains("a\0b"), "{all}");
    }
}

const SAMPLE: &str = r#"{
  // a comment with T0pS3cretT0pS3cret
  "mcpServers": {
    "one": { "command": "npx", "args": ["-y", "$HOME", "${UNSET}"],
      "env": { "GITHUB_TOKEN": "T0pS3cretT0pS3cret", "PORT": "8080", "X": "${API_KEY}" } },
    "two": { "type": "http", "url": "https://h/${UNSET:-x}",
      "headers": { "Authorization": "Bearer T0pS3cretT0pS3cret", "B": "$UNSET" } /* T0pS3cretT0pS3cret */ }
  },
}"#;

const TYPED: [&str; 20] = [
    "", "\"", "'", ",", ":", "{", "}", "[", "]", "$", "${", "\\", "\n", "//", "/*", "*/", "0", "x",
    "\0", "é",
];

/// One slip of the hand: some characters of the sample replaced by others.
fn damaged() -> impl Strategy<Value = String> {
    (0..SAMPLE.len(), 0..4_usize, prop::sample::select(TYPED.to_vec())).prop_map(
        |(at, length, typed)| {
            let mut bytes = SAMPLE.as_bytes().to_vec();
            bytes.splice(at..(at + length).min(SAMPLE.len()), typed.bytes());
            String::from_utf8(bytes).expect("the sample is ASCII")
        },
    )
}

fn everything(text: &[u8], rules: Rules) -> String {
    let source = ConfigSource { name: "f", text };
    match load(&source, rules, &environment) {
        Ok(config) => format!("{config:?} {}", config.warnings.render(Style::Colour)),
        Err(problems) => {
            let json = problems.to_json();
            serde_json::from_str::<serde_json::Value>(&json).expect("valid JSON");
            format!("{problems} {problems:?} {json} {}", problems.render(Style::Plain))
        }
    }
}

proptest! {
    #[test]
    fn no_damage_to_a_file_makes_it_tell_its_secrets(
        text in damaged(),
        rules in prop_oneof![Just(Full), Just(Simple)],
    ) {
        let shown = everything(text.as_bytes(), rules);
        prop_assert!(!shown.contains("T0pS3cretT0pS3cret"), "{}\n{}", text, shown);
        prop_assert!(!shown.contains("s3cr3t-value"), "{}\n{}", text, shown);
    }

    #[test]
    fn loading_never_panics(bytes in any::<Vec<u8>>(), text in any::<String>()) {
        everything(&bytes, Full);
        everything(text.as_bytes(), Simple);
    }

    #[test]
    fn loading_json_like_text_never_panics(text in "[\\[\\]{}:,\"'\\\\/*\n\r\tu0d8-9e.+$a-ct-v é😀]{0,60}") {
        everything(text.as_bytes(), Full);
        everything(format!("{{\"mcpServers\":{{\"a\":{text}}}}}").as_bytes(), Full);
    }
}
