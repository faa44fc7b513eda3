//! Short forms that tool texts and people use for the same thing.

/// Sorted, for it is searched by halves. `search/train/text.py` has the same table.
const ALIASES: &[(&str, &str)] = &[
    ("admin", "administrator"),
    ("auth", "authentication"),
    ("btc", "bitcoin"),
    ("calc", "calculate"),
    ("cmd", "command"),
    ("config", "configuration"),
    ("configs", "configuration"),
    ("db", "database"),
    ("dbs", "databases"),
    ("desc", "description"),
    ("dir", "directory"),
    ("dirs", "directories"),
    ("dm", "direct message"),
    ("dms", "direct messages"),
    ("doc", "document"),
    ("docs", "documents"),
    ("env", "environment"),
    ("eth", "ethereum"),
    ("fs", "filesystem"),
    ("gh", "github"),
    ("img", "image"),
    ("imgs", "images"),
    ("info", "information"),
    ("js", "javascript"),
    ("k8s", "kubernetes"),
    ("lang", "language"),
    ("loc", "location"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("mr", "merge request"),
    ("mrs", "merge requests"),
    ("msg", "message"),
    ("msgs", "messages"),
    ("num", "number"),
    ("params", "parameters"),
    ("pic", "picture"),
    ("pics", "pictures"),
    ("pkg", "package"),
    ("pr", "pull request"),
    ("proj", "project"),
    ("prs", "pull requests"),
    ("py", "python"),
    ("qa", "quality assurance"),
    ("repo", "repository"),
    ("repos", "repositories"),
    ("spec", "specification"),
    ("specs", "specifications"),
    ("sync", "synchronize"),
    ("tmp", "temporary"),
    ("ts", "typescript"),
    ("tx", "transaction"),
    ("txn", "transaction"),
    ("txs", "transactions"),
    ("vid", "video"),
    ("vids", "videos"),
    ("vm", "virtual machine"),
    ("vms", "virtual machines"),
    ("yt", "youtube"),
];

/// What a word is short for, if it is.
pub(crate) fn long_form(word: &str) -> Option<&'static str> {
    let at = ALIASES.binary_search_by(|(short, _)| (*short).cmp(word)).ok()?;
    ALIASES.get(at).map(|(_, long)| *long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_found_and_other_words_are_not() {
        assert_eq!(long_form("pr"), Some("pull request"));
        assert_eq!(long_form("yt"), Some("youtube"));
        assert_eq!(long_form("admin"), Some("administrator"));
        assert_eq!(long_form("press"), None);
        assert_eq!(long_form(""), None);
    }

    #[test]
    fn the_table_is_sorted_and_leads_to_no_second_short_form() {
        assert!(ALIASES.is_sorted_by(|(a, _), (b, _)| a < b));
        for (short, long) in ALIASES {
            for word in long.split(' ') {
                assert_eq!(long_form(word), None, "{short}");
            }
        }
    }
}
