//! What command lines mean.

use super::*;

fn asked(program: Program, line: &str) -> Result<Invocation, ErrorKind> {
    let arguments = std::iter::once("trunkline").chain(line.split_whitespace());
    let parsed = parse_from(program, arguments.map(Into::into));
    parsed.map(|(asked, _)| asked).map_err(|told| told.0.kind())
}

fn refused(line: &str) -> Option<ErrorKind> {
    asked(Program::Trunkline, line).err()
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
    simple(Cli::command()).debug_assert();
}

#[test]
fn without_a_command_it_is_the_stdio_front() {
    let Ok(Invocation::Stdio(stdio)) = asked(Program::Trunkline, "--config a.json --restart")
    else {
        panic!("not stdio");
    };
    assert!(stdio.restart && !stdio.simple);
    assert!(
        matches!(asked(Program::SimpleAggregator, "--config a"), Ok(Invocation::Stdio(stdio)) if stdio.simple)
    );
    assert!(matches!(asked(Program::Trunkline, "--version"), Ok(Invocation::Version)));
    assert!(matches!(asked(Program::Trunkline, "serve --version"), Ok(Invocation::Version)));
}

#[test]
fn co_7_serve_has_its_flags() {
    let line = "serve --config a --listen 0.0.0.0:80 --token t --allow-host A --allow-host b \
                --allow-origin https://x --separator / --name n --version 2 --call-timeout 1";
    let Ok(Invocation::Command(Command::Serve(serve))) = asked(Program::Trunkline, line) else {
        panic!("not serve");
    };
    assert_eq!(serve.allow_host, ["a", "b"]);
    assert_eq!(serve.allow_origin, ["https://x"]);
    assert!(serve.listen.is_some() && serve.token.is_some());
    assert_eq!(refused("serve --simple"), Some(ErrorKind::UnknownArgument));
    assert_eq!(refused("serve --allow-origin *"), Some(ErrorKind::ValueValidation));
}

#[test]
fn the_client_needs_one_target() {
    assert_eq!(refused("tools --config a"), None);
    assert_eq!(refused("tools --url http://x/mcp"), None);
    assert_eq!(refused("tools --url ftp://x"), Some(ErrorKind::ValueValidation));
    assert_eq!(refused("tools --config a --url http://x"), Some(ErrorKind::ArgumentConflict));
    assert_eq!(refused("tools --token t"), Some(ErrorKind::MissingRequiredArgument));
    assert_eq!(refused("tools --config a --header A:b"), Some(ErrorKind::ArgumentConflict));
    assert_eq!(refused("call"), Some(ErrorKind::MissingRequiredArgument));
    assert_eq!(refused("resources --output f"), Some(ErrorKind::MissingRequiredArgument));
}

#[test]
fn no_error_quotes_a_secret() {
    for line in [
        "tools --url http://x --token s3cr\u{e9}t",
        "serve --config a --token s3cr\u{e9}t",
        "tools --url http://x --header s3cr\u{e9}t",
        "tools --url http://me:s3cr\u{e9}t@x/mcp",
    ] {
        let arguments = std::iter::once("trunkline").chain(line.split_whitespace());
        let told = parse_from(Program::Trunkline, arguments.map(Into::into)).err();
        let told = told.map(|told| told.0.render().to_string()).unwrap_or_default();
        assert!(told.starts_with("error: invalid value '…' for '--"), "{line}: {told}");
        assert!(!told.contains("s3cr"), "{told}");
    }
}

#[test]
fn arguments_and_flags_mix() {
    let line = "call git:log a=1 --config c b:=[-1] --args - c=-5 --json";
    let Ok(Invocation::Command(Command::Call(call))) = asked(Program::Trunkline, line) else {
        panic!("not a call");
    };
    assert_eq!((call.name.as_str(), call.args.as_deref()), ("git:log", Some("-")));
    assert_eq!(call.pairs, ["a=1", "b:=[-1]", "c=-5"]);
    assert!(call.target.json);
}

#[test]
fn the_simple_program_is_simple() {
    for line in ["serve --config a", "call", "tools --nonsense", "prompts --help"] {
        let refusal = asked(Program::SimpleAggregator, line).err();
        assert_eq!(refusal, Some(ErrorKind::InvalidSubcommand), "{line}");
    }
    assert!(asked(Program::SimpleAggregator, "check --config a").is_ok());
    let help = simple(Cli::command()).render_long_help().to_string();
    assert!(help.contains("[default: mcp-simple-aggregator]"), "{help}");
    for word in ["`serve`", "  serve ", "--simple", "default: trunkline"] {
        assert!(!help.contains(word), "{word}: {help}");
    }
}
