//! The flags of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Args, Clone, Debug)]
#[command(after_help = "\
For this shell only:         source <(trunkline completions bash)
For good, with bash:         trunkline completions bash > ~/.local/share/bash-completion/completions/trunkline
For good, with zsh:          trunkline completions zsh > \"${fpath[1]}/_trunkline\"
For good, with fish:         trunkline completions fish > ~/.config/fish/completions/trunkline.fish")]
pub(crate) struct Completions {
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Man {
    /// The page of this command
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands into DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
