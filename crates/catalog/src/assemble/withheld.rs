//! `WithheldResources`: resources and templates that a server has and nobody is shown, and which URIs are theirs.

use std::collections::HashSet;

use trunkline_http::decode as percent_decode;

use crate::listing::{ListKind, Listing};
use crate::template::{Template, TemplateReading};

/// What matching the templates of one server may cost a look-up, in steps of a few nanoseconds. A URI whose owner is
/// not known within it is taken for theirs.
const MOST_STEPS: usize = 1_000_000;

#[derive(Debug)]
pub(super) struct WithheldResources {
    /// In one spelling.
    uris: HashSet<String>,
    /// As listed.
    names: HashSet<String>,
    /// As listed, and in lower case.
    templates: Vec<[Option<Template>; 2]>,
    /// What callers are shown of the same server.
    shown_uris: HashSet<String>,
    shown_templates: Vec<Template>,
}

impl WithheldResources {
    /// `None`: callers are shown everything that the server lists.
    pub(super) fn of(listing: &Listing) -> Option<Self> {
        let [uris, templates] =
            [ListKind::Resources, ListKind::Templates].map(|kind| listing.withheld(kind));
        if uris.is_empty() && templates.is_empty() {
            return None;
        }
        let shown = |kind| listing.entries(kind).iter().map(|entry| entry.name.as_str());
        Some(Self {
            uris: uris.iter().map(|uri| spelling(uri)).collect(),
            names: templates.iter().cloned().collect(),
            templates: templates
                .iter()
                .map(|it| [Template::compile(it), Template::compile(&it.to_ascii_lowercase())])
                .collect(),
            shown_uris: shown(ListKind::Resources).map(str::to_owned).collect(),
            shown_templates: shown(ListKind::Templates).filter_map(Template::compile).collect(),
        })
    }

    /// Is this URI, as the server knows it, one of theirs and of nothing that callers are shown?
    pub(super) fn has(&self, uri: &str) -> bool {
        if self.shown_uris.contains(uri) {
            return false;
        }
        // Servers take different spellings for one URI.
        if self.uris.contains(&spelling(uri)) || self.names.contains(uri) {
            return true;
        }
        let mut steps = 0;
        let is_shown = self.shown_templates.iter().any(|it| fits(it, uri, &mut steps));
        !is_shown && self.is_of_template(uri)
    }

    fn is_of_template(&self, uri: &str) -> bool {
        let decoded = percent_decode(uri)
            .map_or_else(|_| uri.to_ascii_lowercase(), |it| it.to_ascii_lowercase());
        let mut steps = 0;
        let mut fitting = self.templates.iter().filter(|[written, lower]| {
            let is_written = written.as_ref().is_some_and(|it| fits(it, uri, &mut steps));
            is_written || lower.as_ref().is_some_and(|it| fits(it, &decoded, &mut steps))
        });
        let is_fitting = fitting.next().is_some();
        // What cannot be decided is not given.
        let is_undecided = !self.templates.is_empty() && Template::is_too_long(uri);
        is_fitting || is_undecided || steps > MOST_STEPS
    }
}

fn fits(template: &Template, uri: &str, steps: &mut usize) -> bool {
    if !template.may_match(uri) {
        return false;
    }
    *steps += template.steps(uri);
    let readings = [TemplateReading::Strict, TemplateReading::Loose];
    *steps <= MOST_STEPS && readings.iter().any(|reading| template.matches(uri, *reading))
}

/// One spelling for all that servers may take for the same: without what URL parsers drop, escapes, a query, a fragment
/// and empty or relative segments, in lower case.
fn spelling(uri: &str) -> String {
    let uri = uri.trim_matches(|it: char| it <= ' ').replace(['\t', '\n', '\r'], "");
    let uri = uri.split(['?', '#']).next().unwrap_or_default();
    let decoded =
        percent_decode(uri).map_or_else(|_| uri.to_ascii_lowercase(), |it| it.to_ascii_lowercase());
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let mut listing = Listing::default();
        let resources =
            r#"{"resources":[{"uri":"N://open/a","name":"r"},{"uri":"n://shut/A b","name":"r"}]}"#;
        let templates = r#"{"resourceTemplates":[{"uriTemplate":"n://open/{id}","name":"t"},
            {"uriTemplate":"n://Shut/{id}/x","name":"t"},{"uriTemplate":"n://{+any}/both","name":"t"}]}"#;
        listing.add_page(ListKind::Resources, resources.as_bytes(), 9).unwrap();
        listing.add_page(ListKind::Templates, templates.as_bytes(), 9).unwrap();
        listing
    }

    #[test]
    fn uris_of_what_is_withheld_are_known_in_other_spellings() {
        assert!(WithheldResources::of(&listing()).is_none());
        let mut listing = listing();
        listing.retain(|_, entry| !entry.name.to_lowercase().contains("shut"));
        let withheld = WithheldResources::of(&listing).unwrap();
        for (uri, expected) in [
            ("N://open/a", false),
            ("n://open/a", false),
            ("n://else", false),
            ("n://shut/A b", true),
            ("n://shut/a%20b", true),
            ("N:///shut/./x/../%41%20b/?q#f", true),
            ("\u{1}n:/\t/sh\nut/A b\r ", true),
            ("n:\\\\shut\\A b", true),
            ("n://shut/A b c", false),
            ("n://Shut/{id}/x", true),
            ("n://Shut/7/x", true),
            ("N://shut/7/x", true),
            ("n://Shut/7/y", false),
            // A template that is shown fits as well.
            ("n://Shut/x/both", false),
        ] {
            assert_eq!(withheld.has(uri), expected, "{uri}");
        }
        let long = format!("n://Shut/{}/x", "7".repeat(10_000));
        assert!(withheld.has(&long));
    }
}
