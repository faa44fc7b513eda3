//! What looks like a secret: by its name, or by the value itself.

/// Anywhere in a name.
const WORDS: [&str; 11] = [
    "TOKEN",
    "KEY",
    "SECRET",
    "PASS",
    "PWD",
    "AUTH",
    "CREDENTIAL",
    "COOKIE",
    "PRIVATE",
    "SIGNATURE",
    "BEARER",
];

/// A whole part of a name between `_` or `-`.
const PARTS: [&str; 7] = ["PAT", "DSN", "PIN", "SID", "JWT", "PW", "PSK"];

/// Variables that every program has and that are no secret, whatever is in them: a log without the
/// user's own paths in it helps nobody.
const ORDINARY: [&str; 16] = [
    "HOME", "USER", "LOGNAME", "PATH", "PWD", "OLDPWD", "TMPDIR", "TMP", "TEMP", "LANG",
    "LANGUAGE", "SHELL", "TERM", "TZ", "HOSTNAME", "EDITOR",
];
const ORDINARY_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Shorter values are too often plain words to be judged by their letters.
const LONG: usize = 20;

/// `GITHUB_TOKEN`, `x-api-key`, `PGPASSWORD`: case does not matter.
pub(crate) fn is_secret_name(name: &str) -> bool {
    if is_ordinary_name(name) {
        return false;
    }
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| PARTS.contains(&part))
}

/// `HOME`, `PATH`, `LC_ALL`: exactly as they are spelt.
pub(crate) fn is_ordinary_name(name: &str) -> bool {
    ORDINARY.contains(&name) || ORDINARY_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// A URL with a password, or a long mix of letters and digits that no one would write by hand.
pub(crate) fn is_secret_value(value: &str) -> bool {
    password_in_url(value).is_some() || is_random(value)
}

/// `scheme://user:PASSWORD@host`
pub(crate) fn password_in_url(value: &str) -> Option<&str> {
    let (_scheme, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _host) = authority.rsplit_once('@')?;
    let (_name, password) = user.split_once(':')?;
    Some(password).filter(|password| !password.is_empty())
}

/// Shorter ones may be a port.
const SHORTEST_PASSWORD: usize = 8;

/// `user:PASSWORD`, as HTTP has it (RFC 7617, 2).
pub(crate) fn password_of_user(value: &str) -> Option<&str> {
    let (user, password) = value.split_once(':')?;
    let is_user = !user.is_empty() && !user.contains(char::is_whitespace);
    // What begins with a slash is the rest of a URL or a path.
    let is_password = password.len() >= SHORTEST_PASSWORD && !password.starts_with(['/', '\\']);
    (is_user && is_password && !password.contains(char::is_whitespace)).then_some(password)
}

fn is_random(value: &str) -> bool {
    let is_path = value.starts_with(['/', '.', '~', '@']) || value.contains("://");
    let has = |class: fn(&u8) -> bool| value.as_bytes().iter().any(class);
    value.len() >= LONG
        && !is_path
        && !value.contains(char::is_whitespace)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && entropy(value.as_bytes()) >= 3.0
}

/// Bits for each byte (Shannon): words have about 2.5 to 3, random hex 3.5, base64 above 4.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total: f64 = counts.iter().copied().map(f64::from).sum();
    let used = counts.iter().filter(|count| **count > 0);
    used.map(|count| f64::from(*count) / total).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::{is_ordinary_name, is_secret_name, is_secret_value, password_in_url};

    #[test]
    fn names() {
        for name in [
            "GITHUB_TOKEN",
            "api_key",
            "X-Api-Key",
            "PGPASSWORD",
            "MYSQL_PWD",
            "Authorization",
            "AWS_CREDENTIALS",
            "Cookie",
            "GH_PAT",
            "SENTRY_DSN",
            "DB_PW",
            "client-secret",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["LOG_LEVEL", "PORT", "HOME", "PATH", "NODE_ENV", "Accept", "SPINNER", "PWD"] {
            assert!(!is_secret_name(name), "{name}");
        }
        for (name, expected) in [
            ("HOME", true),
            ("OLDPWD", true),
            ("LC_ALL", true),
            ("XDG_CACHE_HOME", true),
            ("MYSQL_PWD", false),
            ("home", false),
            ("HOME_TOKEN", false),
        ] {
            assert_eq!(is_ordinary_name(name), expected, "{name}");
        }
    }

    #[test]
    fn values() {
        for value in [
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "d41d8cd98f00b204e9800998ecf8427e",
            "123e4567-e89b-12d3-a456-426614174000",
            "postgres://me:pw@localhost/db",
        ] {
            assert!(is_secret_value(value), "{value}");
        }
        for value in [
            "",
            "info",
            "8080",
            "/home/me/projects/data1",
            "https://example.com/a/long/path/1",
            "@modelcontextprotocol/server-2",
            "a sentence with 3 or more words",
            "00000000000000000000a",
            "one-long-name-without-digits",
        ] {
            assert!(!is_secret_value(value), "{value}");
        }
    }

    #[test]
    fn passwords_of_urls() {
        let table = [
            ("postgres://me:p@ss@host/db", Some("p@ss")),
            ("https://user@host/a:b@c", None),
            ("https://host:8080/x", None),
            ("http://u:@h", None),
            ("plain", None),
        ];
        for (url, password) in table {
            assert_eq!(password_in_url(url), password, "{url}");
        }
    }
}
