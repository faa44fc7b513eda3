//! What the programs are made of, for people and scanners: a `CycloneDX` document with every package, its licence
//! and its checksum; and the checksums of everything that is shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::platform::Platform;
use super::{Dist, file};
use crate::run;

pub(super) const SUMS: &str = "SHA256SUMS";

/// A package that is in the programs.
struct Component {
    name: String,
    version: String,
    licence: String,
    /// As Cargo.lock has it; our own packages have none.
    checksum: Option<String>,
}

/// Writes the document.
pub(super) fn made(dist: &Dist) -> Result<PathBuf, String> {
    let version = &dist.version;
    let path = dist.out.join(format!("trunkline-{version}.cdx.json"));
    let lock = file::text(&file::root().join("Cargo.lock"))?;
    let trees: Result<String, String> =
        dist.programs.iter().map(|programs| tree(programs.platform)).collect();
    let components = components(&trees?, &checksums(&lock));
    if components.iter().all(|component| component.checksum.is_none()) {
        return Err("no package has a checksum in Cargo.lock".to_owned());
    }
    file::write(&path, document(version, &components), file::DATA)?;
    Ok(path)
}

/// Writes a line for each file, as `sha256sum --check` reads it.
pub(super) fn sums(files: &[PathBuf], out: &Path) -> Result<PathBuf, String> {
    let mut lines = String::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digest = Sha256::digest(file::read(path)?);
        lines += &format!("{}  {name}\n", hex::encode(digest));
    }
    let path = out.join(SUMS);
    file::write(&path, lines, file::DATA)?;
    Ok(path)
}

/// What cargo builds into the programs: one line a package, with its licence.
fn tree(platform: Platform) -> Result<String, String> {
    let mut tree = run::our_cargo();
    tree.current_dir(file::root());
    tree.args(["tree", "--locked", "--package", "trunkline", "--edges", "normal"]);
    tree.args(["--prefix", "none", "--format", "{p}\t{l}", "--target", platform.target()]);
    let done = tree.output().map_err(|error| format!("cargo tree: {error}"))?;
    if !done.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The checksum of each `name version` in Cargo.lock.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key));
        line.map(|value| value.trim_matches(['"', ' ', '=']).to_owned())
    };
    let package = |block: &str| {
        let id = (value(block, "name")?, value(block, "version")?);
        Some((id, value(block, "checksum")?))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

fn components(tree: &str, sums: &BTreeMap<(String, String), String>) -> Vec<Component> {
    let lines: BTreeSet<&str> = tree.lines().collect();
    let read = |line: &str| {
        let (package, licence) = line.split_once('\t')?;
        let mut words = package.split_whitespace();
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let id = (name.to_owned(), version.to_owned());
        let checksum = sums.get(&id).cloned();
        let licence = licence.trim_end_matches("(*)").trim().replace('/', " OR ");
        Some((id.clone(), Component { name: id.0, version: id.1, licence, checksum }))
    };
    // A package that is needed twice has a second line, marked with (*).
    let unique: BTreeMap<_, _> = lines.into_iter().filter_map(read).collect();
    unique.into_values().filter(|component| component.name != "trunkline").collect()
}

/// `CycloneDX` 1.5. Without time and serial number: the same sources give the same document.
fn document(version: &str, components: &[Component]) -> String {
    let list: Vec<String> = components.iter().map(component).collect();
    format!(
        "{{\n  \"$schema\": \"http://cyclonedx.org/schema/bom-1.5.schema.json\",\n  \"bomFormat\": \"CycloneDX\",\n  \
         \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \"metadata\": {{\n    \"component\": {{\"type\": \"application\", \
         \"bom-ref\": \"pkg:cargo/trunkline@{version}\", \"name\": \"trunkline\", \"version\": \"{version}\", \
         \"licenses\": [{{\"expression\": \"MIT OR Apache-2.0\"}}]}}\n  }},\n  \"components\": [\n{}\n  ]\n}}\n",
        list.join(",\n")
    )
}

fn component(Component { name, version, licence, checksum }: &Component) -> String {
    let hashes = checksum.as_ref().map_or(String::new(), |sum| {
        format!(", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": \"{sum}\"}}]")
    });
    format!(
        "    {{\"type\": \"library\", \"bom-ref\": \"pkg:cargo/{name}@{version}\", \"name\": \"{name}\", \
         \"version\": \"{version}\"{hashes}, \"licenses\": [{{\"expression\": \"{licence}\"}}], \
         \"purl\": \"pkg:cargo/{name}@{version}\"}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "trunkline v0.1.0 (/x)\tMIT OR Apache-2.0\nserde v1.0.1\tMIT/Apache-2.0\n\
                        serde v1.0.1\tMIT/Apache-2.0 (*)\ntrunkline-wire v0.1.0 (/x/wire)\tMIT\n";
    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\n\
                        checksum = \"abc\"\n\n[[package]]\nname = \"trunkline-wire\"\nversion = \"0.1.0\"\n";

    #[test]
    fn each_package_is_in_the_bill_once_with_its_checksum() {
        let found = components(TREE, &checksums(LOCK));
        let shown: Vec<_> = found
            .iter()
            .map(|component| (component.name.as_str(), component.checksum.as_deref()))
            .collect();
        assert_eq!(shown, [("serde", Some("abc")), ("trunkline-wire", None)]);
        let written = document("0.1.0", &found);
        assert_eq!(written.matches("\"bom-ref\"").count(), 3);
        assert!(written.contains("\"expression\": \"MIT OR Apache-2.0\""), "{written}");
        assert!(written.contains("pkg:cargo/serde@1.0.1"), "{written}");
    }
}
