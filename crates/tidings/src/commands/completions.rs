//! `tidings completions`: what a shell completes.

use clap::CommandFactory as _;

use crate::{
    cli::{Cli, Completions},
    failure::Failure,
    say,
};

pub fn run(asked: &Completions) -> Result<(), Failure> {
    Ok(say::data(script(asked).trim_end())?)
}

fn script(asked: &Completions) -> String {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut Cli::command(), "tidings", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = script(&Completions { shell });
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(script.contains("data-dir"), "{shell}");
        }
    }
}
