//! Where the user's own config is.

use std::path::PathBuf;

use crate::environment::Environment;

/// `$TRUNKLINE_CONFIG`, else `trunkline/config.json` in `$XDG_CONFIG_HOME`, else in `~/.config`.
pub(crate) fn own_path(environment: &Environment) -> Option<PathBuf> {
    if let Some(named) = environment.path("TRUNKLINE_CONFIG") {
        return Some(named);
    }
    // The XDG specification says to ignore a relative one.
    let xdg = environment.path("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    let folder = xdg.or_else(|| Some(environment.path("HOME")?.join(".config")))?;
    Some(folder.join("trunkline/config.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let at = |variables: &[(&str, &str)]| {
            own_path(&Environment::of(variables)).map(|path| path.display().to_string())
        };
        let all = [("TRUNKLINE_CONFIG", "/t.json"), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(at(&all).as_deref(), Some("/t.json"));
        assert_eq!(at(&all[1..]).as_deref(), Some("/x/trunkline/config.json"));
        assert_eq!(at(&all[2..]).as_deref(), Some("/h/.config/trunkline/config.json"));
        let relative = [("XDG_CONFIG_HOME", "x"), ("HOME", "/h")];
        assert_eq!(at(&relative).as_deref(), Some("/h/.config/trunkline/config.json"));
        assert_eq!(at(&[]), None);
    }
}
