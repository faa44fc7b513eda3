//! Recognises in what a server writes that a file was refused to it.

/// A file that was refused, as far as the line tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefusedFile<'l> {
    pub(super) path: &'l str,
    /// It was surely to be changed; reading is likely otherwise.
    pub(super) is_change: bool,
}

/// How programs say it: Node, Python, C, Go, Rust, shells.
const SIGNS: [&str; 7] = [
    "ermission denied",
    "peration not permitted",
    "EACCES",
    "EPERM",
    "PermissionError",
    // What is linked or moved out of where it may not be read.
    "cross-device link",
    "EXDEV",
];

/// What is said of a change.
const CHANGES: [&str; 14] = [
    "mkdir",
    "unlink",
    "rename",
    "rmdir",
    "symlink",
    "link '",
    "copyfile",
    "cannot create",
    "create ",
    "write",
    "touch",
    "cannot remove",
    "mkstemp",
    "readonly database",
];

pub(super) fn refused_file(line: &str) -> Option<RefusedFile<'_>> {
    if !SIGNS.iter().any(|sign| line.contains(sign)) {
        return None;
    }
    let path = quoted(line).or_else(|| bare(line))?;
    let is_change = CHANGES.iter().any(|change| line.contains(change));
    Some(RefusedFile { path, is_change })
}

/// What a process has used up, as its last words tell.
pub(super) fn reached_limit(line: &str) -> Option<&'static str> {
    // `trunkline_keeper` sets them (`limits::SANDBOX_…`).
    const LIMITS: [(&[&str], &str); 3] = [
        (&["EMFILE", "oo many open files"], "8,192 open files"),
        (&["EFBIG", "ile too large"], "4 GiB in a file"),
        (&["ENOMEM", "annot allocate memory", "MemoryError"], "4 GiB of private writable memory"),
    ];
    let said = |signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
    LIMITS.iter().find(|(signs, _)| said(signs)).map(|(_, words)| *words)
}

/// `'/path with spaces'`, `"/path"`, `` `/path` ``.
fn quoted(line: &str) -> Option<&str> {
    for quote in ['\'', '"', '`', '‘'] {
        let end = if quote == '‘' { '’' } else { quote };
        for (at, _) in line.match_indices(quote) {
            let rest = line.get(at + quote.len_utf8()..)?;
            if rest.starts_with('/') {
                return rest.split(end).next().filter(|path| path.len() > 1);
            }
        }
    }
    None
}

/// `open /path: permission denied`
fn bare(line: &str) -> Option<&str> {
    let words = line.split([' ', '\t', '(', '=']).filter(|word| word.starts_with('/'));
    let mut trimmed = words.map(|word| word.trim_end_matches([':', ',', ';', ')', '.']));
    trimmed.rfind(|path| path.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_reached_is_named() {
        for (line, expected) in [
            ("OSError: [Errno 24] Too many open files: '/dev/null'", Some("8,192 open files")),
            ("Error: EFBIG: file too large, write", Some("4 GiB in a file")),
            ("MemoryError", Some("4 GiB of private writable memory")),
            (
                "OSError: [Errno 12] Cannot allocate memory",
                Some("4 GiB of private writable memory"),
            ),
            ("all is well", None),
        ] {
            assert_eq!(reached_limit(line), expected, "{line}");
        }
    }

    #[test]
    fn what_programs_say_is_understood() {
        for (line, expected) in [
            ("Error: EACCES: permission denied, open '/root/x y'", Some(("/root/x y", false))),
            ("Error: EACCES: permission denied, mkdir '/data'", Some(("/data", true))),
            (
                "PermissionError: [Errno 13] Permission denied: '/home/me/.x'",
                Some(("/home/me/.x", false)),
            ),
            ("open /etc/shadow: permission denied", Some(("/etc/shadow", false))),
            ("sh: 1: cannot create /x/y: Permission denied", Some(("/x/y", true))),
            (
                "fatal: unable to access '/root/.gitconfig': Permission denied",
                Some(("/root/.gitconfig", false)),
            ),
            ("cat: /etc/shadow: Permission denied", Some(("/etc/shadow", false))),
            ("EACCES without a path", None),
            ("it's all fine at /x", None),
            ("GET /x: 403 Permission denied by 'policy'", Some(("/x", false))),
        ] {
            let found = refused_file(line);
            assert_eq!(found.map(|it| (it.path, it.is_change)), expected, "{line}");
        }
    }
}
