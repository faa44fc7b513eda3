//! What pages are dressed and helped with: a stylesheet, small scripts, an icon. Each has the hash of
//! what it says in its address, so that browsers keep it for as long as it is the same.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

#[derive(Debug)]
pub(crate) struct Asset {
    /// `live-0123456789ab.js`
    pub(crate) address: String,
    pub(crate) kind: &'static str,
    pub(crate) body: &'static str,
}

const FILES: [(&str, &str); 5] = [
    ("style.css", include_str!("assets/style.css")),
    // One module of four files: addresses have hashes, which an `import` could not know.
    (
        "live.js",
        concat!(
            include_str!("assets/morph.js"),
            include_str!("assets/hold.js"),
            include_str!("assets/arrivals.js"),
            include_str!("assets/live.js")
        ),
    ),
    ("page.js", include_str!("assets/page.js")),
    ("tryit.js", include_str!("assets/tryit.js")),
    ("icon.svg", include_str!("assets/icon.svg")),
];

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |(name, body)| Asset { address: address(name, body), kind: kind(name), body };
    FILES.into_iter().map(asset).collect()
});

/// By the last segment of its address.
pub(crate) fn find(address: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.address == address)
}

/// Where a page finds the file of this name.
pub(crate) fn place(name: &str) -> String {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let fits = |asset: &&Asset| {
        let rest = asset.address.strip_prefix(stem).and_then(|rest| rest.strip_suffix(ending));
        rest.is_some_and(|rest| rest.len() == HASH + 2 && rest.starts_with('-'))
    };
    let found = ASSETS.iter().find(fits);
    format!("/ui/assets/{}", found.map_or(name, |asset| &asset.address))
}

const HASH: usize = 12;

fn address(name: &str, body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    let hash: String = digest.iter().take(HASH / 2).map(|byte| format!("{byte:02x}")).collect();
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    format!("{stem}-{hash}.{ending}")
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_where_pages_look_for_it() {
        for asset in ASSETS.iter() {
            let stem = asset.address.split('-').next().unwrap();
            let ending = asset.address.rsplit('.').next().unwrap();
            let place = place(&format!("{stem}.{ending}"));
            assert_eq!(place, format!("/ui/assets/{}", asset.address));
            let last = place.rsplit('/').next().unwrap();
            assert_eq!(find(last).unwrap().body, asset.body);
            assert_ne!(asset.kind, "application/octet-stream", "{place}");
        }
        assert!(find("style.css").is_none(), "only under its hash");
        assert_eq!(place("nothing.css"), "/ui/assets/nothing.css");
    }

    /// The policy of the pages would stop them, silently.
    #[test]
    fn scripts_and_styles_need_nothing_from_elsewhere() {
        for asset in ASSETS.iter() {
            for word in ["@import", "eval(", "innerHTML", "localStorage", "new Function"] {
                assert!(!asset.body.contains(word), "{}: {word}", asset.address);
            }
            let links = asset.body.matches("://").count();
            let names = asset.body.matches("http://www.w3.org/").count();
            assert_eq!(links, names, "{}", asset.address);
        }
    }
}
