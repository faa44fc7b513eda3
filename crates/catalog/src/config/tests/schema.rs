//! Every rule of the config, broken once.

use super::{check, check_rows, server};
use crate::config::Rules::{Full, Simple};

const SERVER: &str = "invalid_schema $.mcpServers.s.";

#[test]
fn fr_010_the_file_has_servers() {
    let table = r#"
        []                     => $ 1:1 the config must be an object, found an array
        null                   => $ 1:1 the config must be an object, found null
        "x"                    => $ 1:1 the config must be an object, found a string
        {}                     => $.mcpServers 1:1 missing required field `mcpServers` | write {"mcpServers": {"NAME": {"command": "…"}}}
        {"mcpServers": []}     => $.mcpServers 1:16 `mcpServers` must be an object, found an array
        {"mcpServers": null}   => $.mcpServers 1:16 `mcpServers` must be an object, found null
        {"mcpServers": 1}      => $.mcpServers 1:16 `mcpServers` must be an object, found a number
        {"mcpServers": true}   => $.mcpServers 1:16 `mcpServers` must be an object, found a boolean
        {"mcpservers": {}}     => $.mcpServers 1:2 missing required field `mcpServers` | did you mean `mcpServers`?
        {"mcp_servers": {}}    => $.mcpServers 1:2 missing required field `mcpServers` | did you mean `mcpServers`?
        {"context_servers":{}} => $.mcpServers 1:2 missing required field `mcpServers` | this is Zed's `context_servers`; rename it to `mcpServers`
        {"mcp": {}}            => $.mcpServers 1:2 missing required field `mcpServers` | this looks like opencode's or VS Code's `mcp`; rename it to `mcpServers` and put the servers directly under it
        {"a": {"command": ""}} => $.mcpServers 1:2 missing required field `mcpServers` | wrap the servers: {"mcpServers": { … }}
    "#;
    check_rows(&[Full, Simple], str::to_owned, "invalid_schema ", table);
    let table = r#"
        {"servers": {}}        => $.mcpServers 1:2 missing required field `mcpServers` | this is VS Code's `servers`; rename it to `mcpServers`; trunkline without --simple reads it as it is
    "#;
    check_rows(&[Simple], str::to_owned, "invalid_schema ", table);
    let table = r#"
        {"mcpServers": {"s": {"command": "a"}}, "servers": {}} => $.servers 1:41 the file has either `mcpServers` or `servers`, not both
        {"servers": {}, "mcpServers": {"s": {"command": "a"}}} => $.mcpServers 1:17 the file has either `mcpServers` or `servers`, not both
    "#;
    check_rows(&[Full], str::to_owned, "invalid_schema ", table);
}

#[test]
fn fr_010_server_keys_and_servers() {
    let table = r#"
        "": {"command": "a"}     => [""] 1:17 a server key must not be empty
        "a\nb": {"command": "a"} => ["a\nb"] 1:17 a server key must not contain control characters
        "my server": []          => ["my server"] 1:30 a server must be an object, found an array
        "s": null                => .s 1:22 a server must be an object, found null
        "s": "x"                 => .s 1:22 a server must be an object, found a string
    "#;
    let file = |servers: &str| format!("{{\"mcpServers\": {{{servers}}}}}");
    check_rows(&[Full, Simple], file, "invalid_schema $.mcpServers", table);
}

#[test]
fn fr_010_command() {
    let table = r#"
        "args": []              => command 1:17 missing required field `command` | write "command": "npx", or another program
        "comand": "a"           => command 1:23 missing required field `command` | did you mean `command`?
        "cmd": "a"              => command 1:23 missing required field `command` | did you mean `command`?
        "command": ""           => command 1:34 `command` must not be empty
        "command": "  "         => command 1:34 `command` must not be empty
        "command": "$EMPTY"     => command 1:34 `command` is empty once its variables are expanded
        "command": 5            => command 1:34 `command` must be a string, found a number
        "command": null         => command 1:34 `command` must be a string, found null
        "command": ["npx"]      => command 1:34 `command` must be a string, found an array | write the program here and the rest in `args`
        "command": "a\u0000b"   => command 1:34 this string contains a NUL character
        "command": "$NUL"       => command 1:34 a variable in this string contains a NUL character
    "#;
    check_rows(&[Full, Simple], server, SERVER, table);
    let warning = "warning $.mcpServers.s.command 1:34 `command` looks like a program with arguments; no shell will split it | put the arguments in `args`";
    check(&server(r#""command": "npx -y x""#), Full, &[warning]);
    check(&server(r#""command": "C:\\Program Files\\node.exe""#), Full, &[]);
}

#[test]
fn fr_010_args() {
    let table = r#"
        "-y x"           => args 1:47 `args` must be an array of strings, found a string | write ["-y", …], one string for each argument
        {}               => args 1:47 `args` must be an array of strings, found an object
        null             => args 1:47 `args` must be an array of strings, found null
        ["a", "b", 8080] => args[2] 1:58 `args[2]` must be a string, found a number | write "8080"
        [false]          => args[0] 1:48 `args[0]` must be a string, found a boolean | write "false"
        [null]           => args[0] 1:48 `args[0]` must be a string, found null
        ["a", ["b"]]     => args[1] 1:53 `args[1]` must be a string, found an array
        ["\u0000"]       => args[0] 1:48 this string contains a NUL character
    "#;
    let file = |args: &str| server(&format!("\"command\": \"a\", \"args\": {args}"));
    check_rows(&[Full, Simple], file, SERVER, table);
}

#[test]
fn fr_010_env() {
    let table = r#"
        []                   => env 1:46 `env` must be an object of strings, found an array
        null                 => env 1:46 `env` must be an object of strings, found null
        {"A": null}          => env.A 1:52 `A` must be a string, found null | remove it, or write ""
        {"A": ["b"]}         => env.A 1:52 `A` must be a string, found an array
        {"": "b"}            => env[""] 1:47 the name of a variable must not be empty
        {"A=B": "b"}         => env["A=***"] 1:47 the name of a variable cannot contain `=` or NUL
        {"A\u0000": "b"}     => env["A\u0000"] 1:47 the name of a variable cannot contain `=` or NUL
        {"A": "b\u0000"}     => env.A 1:52 this string contains a NUL character
        {"A": "b", "A": "c"} => env.A 1:57 `A` is given twice: here and at line 1, column 47
    "#;
    let file = |env: &str| server(&format!("\"command\": \"a\", \"env\": {env}"));
    check_rows(&[Full, Simple], file, SERVER, table);
    let table = r#"
        {"PORT": 8080}       => env.PORT 1:55 `PORT` must be a string, found a number | write "8080"
        {"ON": true}         => env.ON 1:53 `ON` must be a string, found a boolean | write "true"
        {"PIN_KEY": 1234}    => env.PIN_KEY 1:58 `PIN_KEY` must be a string, found a number | put it in double quotes
    "#;
    check_rows(&[Simple], file, SERVER, table);
    check(&file(r#"{"PORT": 8080, "ON": true, "PIN_KEY": 1234}"#), Full, &[]);
}

#[test]
fn fr_010_remote_servers() {
    let table = r#"
        "command": "a", "url": "http://h"            => url 1:39 a server has either `command` or `url`, not both
        "serverUrl": "http://h", "command": "a"      => command 1:48 a server has either `command` or `serverUrl`, not both
        "url": "http://h", "httpUrl": "http://h"     => httpUrl 1:42 a server has either `url` or `httpUrl`, not both
        "uri": "http://h"                            => command 1:23 missing required field `command` | did you mean `url`?
        "url": "h:80"                                => url 1:30 `url` must be an http:// or https:// address
        "url": "unix:///x"                           => url 1:30 `url` must be an http:// or https:// address
        "url": "http://"                             => url 1:30 `url` names no host | write "https://HOST/PATH"
        "url": "http:///mcp"                         => url 1:30 `url` names no host
        "url": "http://:80/"                         => url 1:30 `url` names no host
        "url": "http://h:0/"                         => url 1:30 `url` has a port that is not a number from 1 to 65535
        "url": "http://h:65536/"                     => url 1:30 `url` has a port that is not a number from 1 to 65535 | write http://HOST:8080/PATH, or leave the port out
        "url": "http://h:x/"                         => url 1:30 `url` has a port that is not a number from 1 to 65535
        "url": "http://[::1]:99999"                  => url 1:30 `url` has a port that is not a number from 1 to 65535
        "url": "https://[::1:1/"                     => url 1:30 `url` has a host that is not a valid name or address
        "url": "https://[::g]/"                      => url 1:30 `url` has a host that is not a valid name or address
        "url": "https://[::1]1/"                     => url 1:30 `url` has a host that is not a valid name or address
        "url": "http://a%41/"                        => url 1:30 `url` has a host that is not a valid name or address
        "url": "http://münchen.de/"                  => url 1:30 `url` has a host with letters beyond ASCII
        "url": "http://u:p@h/"                       => url 1:30 `url` must not hold a user name or password | put them in `headers`, as "Authorization"
        "url": "http://a b"                          => url 1:30 `url` must be an http:// or https:// address
        "url": ""                                    => url 1:30 `url` must not be empty
        "url": 5                                     => url 1:30 `url` must be a string, found a number
        "type": "http"                               => url 1:17 missing required field `url` | write "url": "https://…"
        "type": "stdio"                              => command 1:17 missing required field `command`
        "type": "stdio", "url": "http://h"           => url 1:40 a server of type stdio has no `url`
        "type": "sse", "command": "a"                => command 1:38 a server of type http or sse has no `command` | give a `url`, or remove `type`
        "type": "ws", "url": "http://h"              => type 1:31 this `type` of server is not known | write "stdio", "http" or "sse"
        "type": 1, "url": "http://h"                 => type 1:31 `type` must be a string, found a number
        "url": "http://h", "headers": []             => headers 1:53 `headers` must be an object of strings, found an array
        "url": "http://h", "headers": {"A b": "c"}   => headers["A b"] 1:54 this is not the name of a header
        "url": "http://h", "headers": {"A": "c\nd"}  => headers.A 1:54 the value of a header must be one line without control characters
    "#;
    check_rows(&[Full], server, SERVER, table);
    let table = r#"
        "url": "http://h", "headers": {"A": "$U"}    => headers.A 1:60 environment variable `U` is not set (mcpServers.s.headers.A)
    "#;
    check_rows(&[Full], server, "missing_env_var $.mcpServers.s.", table);
}

#[test]
fn fr_010_a_server_with_two_transports_is_checked_for_both() {
    let text = server(r#""command": "$ONE", "url": "$TWO""#);
    let expected = [
        "missing_env_var $.mcpServers.s.command 1:35 environment variable `ONE` is not set (mcpServers.s.command)",
        "invalid_schema $.mcpServers.s.url 1:42 a server has either `command` or `url`, not both",
        "missing_env_var $.mcpServers.s.url 1:50 environment variable `TWO` is not set (mcpServers.s.url)",
    ];
    check(&text, Full, &expected);
}

#[test]
fn fr_010_switches_and_directory() {
    let table = r#"
        "disabled": "yes"                 => disabled 1:51 `disabled` must be true or false, found a string
        "enabled": 1                      => enabled 1:50 `enabled` must be true or false, found a number
        "disabled": true, "enabled": true => enabled 1:57 `disabled` and `enabled` contradict each other
        "cwd": 5                          => cwd 1:46 `cwd` must be a string, found a number
        "cwd": ""                         => cwd 1:46 `cwd` must not be empty
        "cwd": "\u0000"                   => cwd 1:46 this string contains a NUL character
    "#;
    let file = |members: &str| server(&format!("\"command\": \"a\", {members}"));
    check_rows(&[Full], file, SERVER, table);
}

#[test]
fn fr_010_duplicates_name_both_places() {
    let table = r#"
        {"mcpServers": {⏎ "a": {"command": "x"},⏎ "a": {"command": "y"}}} => mcpServers.a 3:2 `a` is given twice: here and at line 2, column 2
        {"mcpServers": {"s": {"command": "x", "comm\u0061nd": "y"}}}      => mcpServers.s.command 1:39 `command` is given twice: here and at line 1, column 23
        {"mcpServers": {"s": {"command": "a"}}, "mcpServers": {}}         => mcpServers 1:41 `mcpServers` is given twice: here and at line 1, column 2
    "#;
    check_rows(&[Full, Simple], str::to_owned, "invalid_schema $.", table);
}

#[test]
fn fr_013_fr_014_simple_rules_refuse_every_other_key() {
    let table = r#"
        "url": "http://h"                => url 1:23 `url` is not in the standard config | the simple mode takes only `command`, `args`, `env` here; trunkline without --simple takes more
        "command": "a", "type": "stdio"  => type 1:39 `type` is not in the standard config | the simple mode takes only `command`, `args`, `env` here; trunkline without --simple takes more
        "command": "a", "cwd": "/"       => cwd 1:39 `cwd` is not in the standard config
        "command": "a", "disabled": true => disabled 1:39 `disabled` is not in the standard config
        "command": "a", "hiddenTools": 1 => hiddenTools 1:39 `hiddenTools` is not in the standard config
        "command": "a", "arg": []        => arg 1:39 `arg` is not in the standard config | did you mean `args`?
        "command": "a", "enviroment": {} => enviroment 1:39 `enviroment` is not in the standard config | did you mean `env`?
    "#;
    check_rows(&[Simple], server, SERVER, table);
    let table = r#"
        {"$schema": "x", "mcpServers": {"s": {"command": "a"}}} => ["$schema"] 1:2 `$schema` is not in the standard config | the simple mode takes only `mcpServers` here; trunkline without --simple takes more
    "#;
    check_rows(&[Simple], str::to_owned, "invalid_schema $", table);
}

#[test]
fn sc_005_what_looks_like_a_mistake_is_a_warning_under_the_full_rules() {
    let table = r#"
        {"mcpServers": {}}                                         => .mcpServers 1:16 `mcpServers` is empty: there is no server to start
        {"mcpServers": {"s": {"command": "a", "arg": []}}}         => .mcpServers.s.arg 1:39 `arg` is not a known key and is ignored | did you mean `args`?
        {"mcpServers": {"s": {"command": "a", "enviroment": {}}}}  => .mcpServers.s.enviroment 1:39 `enviroment` is not a known key and is ignored | did you mean `env`?
        {"mcpServers": {"s": {"command": "a", "envFile": "x"}}}    => .mcpServers.s.envFile 1:39 `envFile` is not supported yet and has no effect
        {"mcpServers": {"s": {"command": "a", "hidden_tool": []}}} => .mcpServers.s.hidden_tool 1:39 `hidden_tool` is not a known key and is ignored | did you mean `hiddenTools`?
        {"mcpServers": {"s": {"command": "a", "allowedTools": 1}}} => .mcpServers.s.allowedTools 1:39 `allowedTools` is not a known key and is ignored | did you mean `exposedTools`?
        {"mcpServers": {"s": {"command": "a", "shared": true}}}    => .mcpServers.s.shared 1:39 `shared` is not a known key and is ignored | did you mean `share`?
        {"mcpServers": {"s": {"command": "a", "headers": {"A": ""}}}} => .mcpServers.s.headers 1:39 `headers` has no effect: this server runs a `command` | remove it; it belongs to a server with a `url`
        {"mcpServers": {"s": {"url": "http://h", "env": {"A": "$U"}}}} => .mcpServers.s.env 1:42 `env` has no effect: this server has a `url` | remove it; it belongs to a server with a `command`
        {"mcpServers": {"s": {"url": "http://h", "args": ["$U"]}}} => .mcpServers.s.args 1:42 `args` has no effect: this server has a `url`
        {"mcpServers": {"s": {"url": "http://h", "cwd": "$U"}}}    => .mcpServers.s.cwd 1:42 `cwd` has no effect: this server has a `url`
        {"mcpServers": {"s": {"command": "a"}}, "tool": {}}        => .tool 1:41 `tool` is not a known key and is ignored | did you mean `tools`?
        {"mcpServers": {"s": {"command": "a"}}, "customTools": {}} => .customTools 1:41 `customTools` is not a known key and is ignored | did you mean `tools`?
    "#;
    check_rows(&[Full], str::to_owned, "warning $", table);
    check(&server(r#""command": "a", "args": [], "arg": []"#), Full, &[]);
    let empty = "warning $.mcpServers 1:16 `mcpServers` is empty: there is no server to start";
    check("{\"mcpServers\": {}}", Simple, &[empty]);
}

#[test]
fn sc_005_every_problem_is_reported_at_once_in_file_order() {
    let text = r#"{"mcpServers": {
"a": {"env": {"X": "$UNSET"}, "args": "x"},
"b": 5,
"c": {"command": "${ONE}", "args": ["${TWO}${THREE}", 4]}
}}"#;
    let expected = [
        "invalid_schema $.mcpServers.a.command 2:1 missing required field `command`",
        "missing_env_var $.mcpServers.a.env.X 2:21 environment variable `UNSET` is not set (mcpServers.a.env.X)",
        "invalid_schema $.mcpServers.a.args 2:39 `args` must be an array of strings, found a string",
        "invalid_schema $.mcpServers.b 3:6 a server must be an object, found a number",
        "missing_env_var $.mcpServers.c.command 4:19 environment variable `ONE` is not set (mcpServers.c.command)",
        "missing_env_var $.mcpServers.c.args[0] 4:38 environment variable `TWO` is not set (mcpServers.c.args[0])",
        "missing_env_var $.mcpServers.c.args[0] 4:44 environment variable `THREE` is not set (mcpServers.c.args[0])",
        "invalid_schema $.mcpServers.c.args[1] 4:55 `args[1]` must be a string, found a number",
    ];
    check(text, Full, &expected);
}
