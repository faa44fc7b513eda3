//! Sees which program a command line of a Windows config starts. Pure.

/// The command line behind `cmd /c`, which such configs put before programs that are scripts (`npx.cmd`).
/// One that needs more of `cmd` than to start a program stays as it is.
pub(crate) fn unwrapped<'a>(command: &'a str, args: Vec<&'a str>) -> (&'a str, Vec<&'a str>) {
    match program_name(command).as_str() {
        "cmd" => behind_switches(&args).unwrap_or((command, args)),
        _ => (command, args),
    }
}

/// What stands behind `/c`, and perhaps other switches before it.
fn behind_switches<'a>(args: &[&'a str]) -> Option<(&'a str, Vec<&'a str>)> {
    let end = args.iter().position(|arg| arg.eq_ignore_ascii_case("/c"))?;
    let (switches, line) = (args.get(..end)?, args.get(end + 1..)?);
    // `/s` is about quotes and `/d` about start-up commands of the user; others change what the line means.
    let is_harmless = |arg: &&str| arg.eq_ignore_ascii_case("/s") || arg.eq_ignore_ascii_case("/d");
    if !switches.iter().all(is_harmless) || line.iter().any(|word| needs_cmd(word)) {
        return None;
    }
    match line {
        // The whole line as one argument. A path may have spaces itself.
        [line] => {
            let mut words = line.split_ascii_whitespace();
            let command = words.next()?;
            let is_path = words.clone().next().is_some() && command.contains(['\\', '/']);
            (!is_path).then(|| (command, words.collect()))
        }
        [command, args @ ..] if !command.is_empty() => Some((command, args.to_vec())),
        _ => None,
    }
}

/// Whether `cmd` would read something into a word: a variable, a second command, an escape.
fn needs_cmd(word: &str) -> bool {
    word.contains(['%', '!', '^', '&', '|', '<', '>', '"'])
}

/// The name of the program that a command starts, as Windows and other systems write paths to programs.
pub(crate) fn program_name(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let bare = name.rsplit_once('.').filter(|(_, extension)| {
        ["exe", "cmd", "bat"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    });
    match bare {
        // There, names have no case.
        Some((bare, _)) => bare.to_ascii_lowercase(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_behind_cmd_is_found() {
        type Line = (&'static str, &'static [&'static str]);
        let table: [(&str, &[&str], Line); 13] = [
            ("cmd", &["/c", "npx", "-y", "git-mcp"], ("npx", &["-y", "git-mcp"])),
            ("cmd.exe", &["/C", "uvx", "time"], ("uvx", &["time"])),
            (r"C:\Windows\System32\cmd.exe", &["/d", "/s", "/c", "npx", "x"], ("npx", &["x"])),
            ("cmd", &["/c", "npx -y git-mcp"], ("npx", &["-y", "git-mcp"])),
            ("cmd", &["/c", "node", r"C:\My Servers\a.js"], ("node", &[r"C:\My Servers\a.js"])),
            // What only `cmd` can do stays with it.
            ("cmd", &["/c", "npx", "%USERPROFILE%"], ("cmd", &["/c", "npx", "%USERPROFILE%"])),
            ("cmd", &["/c", "a", "&&", "b"], ("cmd", &["/c", "a", "&&", "b"])),
            ("cmd", &["/v:on", "/c", "a"], ("cmd", &["/v:on", "/c", "a"])),
            ("cmd", &["/k", "npx"], ("cmd", &["/k", "npx"])),
            ("cmd", &["/c"], ("cmd", &["/c"])),
            ("cmd", &["/c", r"C:\My Servers\a.exe"], ("cmd", &["/c", r"C:\My Servers\a.exe"])),
            ("npx", &["/c", "x"], ("npx", &["/c", "x"])),
            ("cmd", &["/c", "cd x; y", "z"], ("cd x; y", &["z"])),
        ];
        for (command, args, (expected, rest)) in table {
            let found = unwrapped(command, args.to_vec());
            assert_eq!(found, (expected, rest.to_vec()), "{command} {args:?}");
        }
    }

    #[test]
    fn a_program_has_one_name_on_every_system() {
        for (command, name) in [
            ("npx", "npx"),
            ("NPX.CMD", "npx"),
            (r"C:\Program Files\nodejs\npx.cmd", "npx"),
            ("/usr/bin/uvx", "uvx"),
            (r"C:\tools\Trunkline.EXE", "trunkline"),
            ("server.js", "server.js"),
            ("python3.12", "python3.12"),
            ("Python", "Python"),
        ] {
            assert_eq!(program_name(command), name, "{command}");
        }
    }
}
