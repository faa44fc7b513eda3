//! What package managers read that download the programs themselves (Homebrew, scoop, winget), and the
//! scripts that install without one: templates, filled with version, addresses and checksums.
//!
//! Each promises only platforms that there are programs for; one that would promise none is left out.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::file::{self, DATA, PROGRAM};
use super::platform::{Platform, Processor, System};
use super::{Dist, tarball};

/// The archive of a platform, as the manifests speak of it.
struct Archive {
    platform: Platform,
    name: String,
    folder: String,
    sum: String,
}

pub(super) fn make(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let mut archives = Vec::new();
    for programs in &dist.programs {
        let name = tarball::name(programs);
        let sum = hex::encode(Sha256::digest(file::read(&dist.out.join(&name))?));
        let (platform, folder) = (programs.platform, tarball::folder(programs));
        archives.push(Archive { platform, name, folder, sum });
    }
    write(&archives, &dist.version, dist.url.as_deref(), &dist.out)
}

/// Writes those that there is something to say in, and says which were left out.
fn write(
    archives: &[Archive],
    version: &str,
    url: Option<&str>,
    out: &Path,
) -> Result<Vec<PathBuf>, String> {
    let template = |name: &str| {
        let text = file::text(&file::root().join("packaging").join(name))?;
        let text = text.replace("@VERSION@", version).replace("@URL@", url.unwrap_or_default());
        Ok::<String, String>(text)
    };
    let mut made = Vec::new();
    let mut put = |name: &str, text: String, mode: u32| {
        let path = out.join(name);
        made.push(path.clone());
        file::write(&path, text, mode)
    };
    let unix: Vec<&Archive> =
        archives.iter().filter(|it| it.platform.system != System::Windows).collect();
    if !unix.is_empty() {
        let platforms: Vec<String> = unix.iter().map(|it| it.platform.to_string()).collect();
        let script = template("install.sh")?.replace("@PLATFORMS@", &platforms.join(" "));
        put("install.sh", script, PROGRAM)?;
    }
    match url {
        Some(url) if !unix.is_empty() => {
            let blocks = formula_blocks(&unix, url);
            put(
                "trunkline.rb",
                template("homebrew/trunkline.rb")?.replace("@PLATFORMS@", &blocks),
                DATA,
            )?;
        }
        _ => println!("left out: the Homebrew formula, which needs --url"),
    }
    let windows = Platform { system: System::Windows, processor: Processor::X86 };
    match archives.iter().find(|it| it.platform == windows) {
        Some(archive) => {
            let filled = |name: &str| {
                let text = template(name)?.replace("@ARCHIVE@", &archive.name);
                let text = text.replace("@FOLDER@", &archive.folder);
                let text = text.replace("@PLATFORM@", &archive.platform.to_string());
                Ok::<String, String>(text.replace("@SHA256@", &archive.sum))
            };
            put("install.ps1", filled("install.ps1")?, DATA)?;
            if url.is_some() {
                put("trunkline.scoop.json", filled("scoop/trunkline.json")?, DATA)?;
                put("Trunkline.Trunkline.yaml", filled("winget/Trunkline.Trunkline.yaml")?, DATA)?;
            }
        }
        None => println!("left out: install.ps1, scoop, winget: there is no program for Windows"),
    }
    Ok(made)
}

/// `on_linux do on_intel do url … end end`, for each.
fn formula_blocks(archives: &[&Archive], url: &str) -> String {
    let mut text = String::new();
    for (system, word) in [(System::Mac, "on_macos"), (System::Linux, "on_linux")] {
        let of_system: Vec<_> = archives.iter().filter(|it| it.platform.system == system).collect();
        if of_system.is_empty() {
            continue;
        }
        text += &format!("\n  {word} do\n");
        for Archive { platform, name, sum, .. } in of_system {
            let processor = match platform.processor {
                Processor::X86 => "on_intel",
                Processor::Arm => "on_arm",
            };
            text += &format!(
                "    {processor} do\n      url \"{url}/{name}\"\n      sha256 \"{sum}\"\n    end\n"
            );
        }
        text += "  end\n";
    }
    if !archives.iter().any(|it| it.platform.system == System::Mac) {
        text.insert_str(0, "  depends_on :linux\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(system: System, processor: Processor, ending: &str) -> Archive {
        let platform = Platform { system, processor };
        let folder = format!("trunkline-1.2.3-{platform}");
        let sum = "ab".repeat(32);
        Archive { platform, name: format!("{folder}.{ending}"), folder, sum }
    }

    /// The names and texts of what is made.
    fn written(archives: &[Archive], url: Option<&str>, place: &str) -> Vec<(String, String)> {
        let out = std::env::temp_dir().join(format!("trunkline-{place}-{}", std::process::id()));
        let mut made: Vec<_> = write(archives, "1.2.3", url, &out)
            .unwrap()
            .iter()
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, file::text(path).unwrap())
            })
            .collect();
        std::fs::remove_dir_all(&out).unwrap();
        made.sort();
        made
    }

    #[test]
    fn nothing_is_promised_that_there_is_no_program_for() {
        let linux = [archive(System::Linux, Processor::Arm, "tar.gz")];
        let made = written(&linux, Some("https://h/dl"), "manifests-linux");
        let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["install.sh", "trunkline.rb"]);
        let (script, formula) = (&made[0].1, &made[1].1);
        assert!(script.contains("platforms='linux-aarch64'"), "{script}");
        assert!(
            formula.contains("depends_on :linux") && !formula.contains("on_intel"),
            "{formula}"
        );
        assert!(formula.contains("url \"https://h/dl/trunkline-1.2.3-linux-aarch64.tar.gz\""));
        let without = written(&linux, None, "manifests-without");
        assert_eq!(without.len(), 1, "an address that nobody has said is in no manifest");
    }

    #[test]
    fn every_template_is_filled() {
        let all = [
            archive(System::Linux, Processor::X86, "tar.gz"),
            archive(System::Mac, Processor::Arm, "tar.gz"),
            archive(System::Windows, Processor::X86, "zip"),
        ];
        let made = written(&all, Some("https://h/dl"), "manifests-all");
        let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "Trunkline.Trunkline.yaml",
            "install.ps1",
            "install.sh",
            "trunkline.rb",
            "trunkline.scoop.json",
        ];
        assert_eq!(names, expected);
        for (name, text) in &made {
            let is_left = |word: &str| {
                let word = word.trim_matches(|c: char| !c.is_ascii_uppercase());
                ["VERSION", "URL", "SHA256", "ARCHIVE", "FOLDER", "PLATFORM", "PLATFORMS"]
                    .contains(&word)
                    && text.contains(&format!("@{word}@"))
            };
            assert!(!text.split('@').any(is_left), "{name}:\n{text}");
            assert!(text.contains("1.2.3"), "{name}");
        }
        let (scoop, winget) = (&made[4].1, &made[0].1);
        for text in [scoop, winget] {
            assert!(text.contains("https://h/dl/trunkline-1.2.3-windows-x86_64.zip"), "{text}");
            assert!(text.contains(&"ab".repeat(32)), "{text}");
        }
        assert!(!made[3].1.contains("depends_on :linux"), "{}", made[3].1);
    }
}
