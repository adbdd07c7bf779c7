//! What shells complete when somebody types `tidings`.

use clap::Args;
use clap_complete::Shell;

pub const COMPLETIONS: &str = "\
Writes the completion script of a shell to standard output.

Examples:
  tidings completions bash > ~/.local/share/bash-completion/completions/tidings
  tidings completions zsh > ~/.zfunc/_tidings
  tidings completions fish > ~/.config/fish/completions/tidings.fish";

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}
