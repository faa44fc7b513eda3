//! Which scopes are asked for.

/// Most scopes of one request, and most bytes of one: lists come from servers.
const MOST: usize = 100;
const LONGEST: usize = 256;

/// What the refused request needs goes before what the server's metadata lists; what was granted
/// before is asked for again, so that stepping up does not lose it. `offline` is what an issuer
/// calls the wish for a refresh token, where it knows one.
pub(super) fn choose(
    challenged: Option<&str>,
    listed: &[String],
    granted: Option<&str>,
    issuer_knows: &[String],
) -> Option<String> {
    const OFFLINE: &str = "offline_access";
    let mut chosen: Vec<&str> = Vec::new();
    let wanted: Vec<&str> = match challenged {
        Some(challenged) => words(challenged).collect(),
        None => listed.iter().map(String::as_str).collect(),
    };
    let before = granted.map(words).into_iter().flatten();
    for scope in wanted.into_iter().chain(before) {
        if is_scope(scope) && !chosen.contains(&scope) && chosen.len() < MOST {
            chosen.push(scope);
        }
    }
    if issuer_knows.iter().any(|known| known == OFFLINE) && !chosen.contains(&OFFLINE) {
        chosen.push(OFFLINE);
    }
    (!chosen.is_empty()).then(|| chosen.join(" "))
}

fn words(scopes: &str) -> impl Iterator<Item = &str> {
    scopes.split(' ').filter(|scope| !scope.is_empty())
}

/// RFC 6749, 3.3.
fn is_scope(text: &str) -> bool {
    let valid = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_specification() {
        let list =
            |scopes: &[&str]| scopes.iter().map(|scope| (*scope).to_owned()).collect::<Vec<_>>();
        for (challenged, listed, granted, known, chosen) in [
            (None, &[][..], None, &[][..], None),
            (Some("a b"), &["c"], None, &[], Some("a b")),
            (None, &["c", "d"], None, &[], Some("c d")),
            (Some(""), &["c"], None, &[], None),
            (Some("w"), &["c"], Some("r w x"), &[], Some("w r x")),
            (None, &["c"], Some("r"), &[], Some("c r")),
            (Some("a"), &[], None, &["offline_access", "z"], Some("a offline_access")),
            (None, &[], None, &["offline_access"], Some("offline_access")),
            (Some("offline_access"), &[], None, &["offline_access"], Some("offline_access")),
            (Some("a a  b"), &[], None, &[], Some("a b")),
            (Some("a\"b c\\d é ok"), &[], None, &[], Some("ok")),
        ] {
            let got = choose(challenged, &list(listed), granted, &list(known));
            assert_eq!(got.as_deref(), chosen, "{challenged:?} {listed:?} {granted:?}");
        }
        let many: Vec<String> = (0..1000).map(|n| format!("s{n}")).collect();
        assert_eq!(choose(None, &many, None, &[]).unwrap().split(' ').count(), MOST);
    }
}
