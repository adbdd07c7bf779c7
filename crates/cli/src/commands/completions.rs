//! `tidings completions`: what a shell completes.

use clap::CommandFactory as _;
use shell::{failure::CommandError, terminal};

use crate::arguments::{CompletionsArgs, TidingsCli};

pub fn run(asked: &CompletionsArgs) -> Result<(), CommandError> {
    Ok(terminal::print_data(completion_script(asked).trim_end())?)
}

fn completion_script(asked: &CompletionsArgs) -> String {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut TidingsCli::command(), "tidings", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = completion_script(&CompletionsArgs { shell });
            for command in TidingsCli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(script.contains("data-dir"), "{shell}");
        }
    }
}
