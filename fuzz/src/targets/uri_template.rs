//! URI templates: what is expanded from one matches it, and both readings are bounded.

use trunkline_catalog::template_matches;

use crate::input::two_texts;

pub(crate) fn run(bytes: &[u8]) {
    let Some((template, uri)) = two_texts(bytes) else { return };
    let strict = template_matches(template, uri, true);
    let loose = template_matches(template, uri, false);
    assert_eq!(strict.is_some(), loose.is_some(), "a template in one reading only");
    // A template without variables is a plain text.
    if strict.is_some() && !template.contains('{') {
        assert_eq!(template_matches(template, template, true), Some(true), "a text is not itself");
    }
    // Simple variables, expanded with letters only, give a URI of the template.
    if let Some(expanded) = expanded(template)
        && strict.is_some()
    {
        assert_eq!(template_matches(template, &expanded, true), Some(true), "no match: {expanded}");
        assert_eq!(
            template_matches(template, &expanded, false),
            Some(true),
            "no loose match: {expanded}"
        );
    }
}

/// The template with `abc` for every `{name}`; `None` if it has anything but those, or is long.
fn expanded(template: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, behind) = behind.split_once('}')?;
        let simple = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !simple {
            return None;
        }
        out.push_str(before);
        out.push_str("abc");
        rest = behind;
    }
    out.push_str(rest);
    (out.len() < 4096 && template.len() < 4096).then_some(out)
}
