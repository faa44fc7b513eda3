//! `ContainerRules`: the container that a server runs in, as a config describes it.

/// An image, and what of this machine is put into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerRules {
    pub image: String,
    /// `None`: podman where there is one, else docker.
    pub engine: Option<ContainerEngine>,
    pub mounts: Vec<ContainerMount>,
    /// A network of the engine; `None`: its usual one, or none if the sandbox has none.
    pub network: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerEngine {
    Podman,
    Docker,
}

impl ContainerEngine {
    pub const ALL: [ContainerEngine; 2] = [Self::Podman, Self::Docker];

    /// Its command, too.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }

    pub fn of_word(word: &str) -> Option<ContainerEngine> {
        Self::ALL.into_iter().find(|engine| engine.word() == word)
    }
}

/// A directory or a file of this machine in the container: `/srv/notes:/notes:rw`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerMount {
    pub source: String,
    pub target: String,
    pub is_writable: bool,
}

impl ContainerMount {
    /// `/path`, `/path:/target`, each with `:ro` (the default) or `:rw` behind it.
    pub fn of_text(text: &str) -> Option<ContainerMount> {
        let (paths, is_writable) = match text.strip_suffix(":rw") {
            Some(paths) => (paths, true),
            None => (text.strip_suffix(":ro").unwrap_or(text), false),
        };
        let (source, target) = paths.split_once(':').unwrap_or((paths, paths));
        // The engines split at `:` and `,`: neither can stand in a path.
        let is_path = |path: &str| path.starts_with('/') && !path.contains([':', ',', '\0']);
        let mount =
            ContainerMount { source: source.to_owned(), target: target.to_owned(), is_writable };
        (is_path(source) && is_path(target)).then_some(mount)
    }
}

impl std::fmt::Display for ContainerMount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rights = if self.is_writable { "rw" } else { "ro" };
        write!(f, "{}:{}:{rights}", self.source, self.target)
    }
}

/// Whether this can be the name of an image. One that begins with `-` would be an option of the engine.
pub fn is_image(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    name.bytes().all(is_letter) && name.starts_with(|it: char| it.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_and_written() {
        for (text, expected) in [
            ("/a", Some("/a:/a:ro")),
            ("/a:/b", Some("/a:/b:ro")),
            ("/a:rw", Some("/a:/a:rw")),
            ("/a:/b:rw", Some("/a:/b:rw")),
            ("a", None),
            ("/a:b", None),
            ("/a:/b:/c", None),
            ("/a,x", None),
        ] {
            let read = ContainerMount::of_text(text).map(|it| it.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_image_is_no_option() {
        for (name, expected) in [
            ("node:22", true),
            ("ghcr.io/a/b@sha256:00", true),
            ("--privileged", false),
            ("", false),
            ("a b", false),
        ] {
            assert_eq!(is_image(name), expected, "{name}");
        }
    }
}
