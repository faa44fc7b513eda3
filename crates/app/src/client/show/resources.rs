//! Resources and templates for people: one table each.

use super::{list, summary, title, words};
use crate::client::clean;
use crate::client::table::columns;

pub(crate) fn resource_list(resources: &[u8], templates: &[u8], width: usize) -> String {
    let (resources, templates) =
        (list(resources, "resources"), list(templates, "resourceTemplates"));
    if resources.is_empty() && templates.is_empty() {
        return "no resources\n".to_owned();
    }
    let mut out = columns(&rows(&resources, "uri"), "", width);
    if !templates.is_empty() {
        let gap = if resources.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{gap}Templates\n"));
        out.push_str(&columns(&rows(&templates, "uriTemplate"), "  ", width));
    }
    out
}

fn rows(entries: &[&[u8]], address: &str) -> Vec<[String; 4]> {
    let row = |entry: &&[u8]| {
        [
            title(entry, address),
            clean::line(&words(entry, "name")),
            clean::line(&words(entry, "mimeType")),
            summary(&words(entry, "description")),
        ]
    };
    entries.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lists_are_tables() {
        let resources =
            br#"{"resources":[{"uri":"a://1","name":"[s] One","mimeType":"text/plain"}]}"#;
        let templates = br#"{"resourceTemplates":[{"uriTemplate":"a://{x}","name":"[s] X","description":"Any x"}]}"#;
        let one = "a://1  [s] One  text/plain\n";
        assert_eq!(resource_list(resources, b"{}", 80), one);
        let both = format!("{one}\nTemplates\n  a://{{x}}  [s] X    Any x\n");
        assert_eq!(resource_list(resources, templates, 80), both);
        assert_eq!(resource_list(b"{}", b"{}", 80), "no resources\n");
    }

    #[test]
    fn one_odd_entry_does_not_hide_the_others() {
        let resources = br#"{"resources":[{"uri":"a://1","name":"A","size":1e400},
            {"uri":"a://2","name":"\ud800"},{"name":"B"},7]}"#;
        let expected = "a://1         A\na://2         \"\\ud800\"\n\
                        {\"name\":\"B\"}  B\n7\n";
        assert_eq!(resource_list(resources, b"{}", 80), expected);
    }
}
