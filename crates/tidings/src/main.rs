//! The program `tidings`; see `tidings --help`.

use std::process::ExitCode;

use tidings::commands;

fn main() -> ExitCode {
    match commands::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            commands::tell(&failure);
            failure.into()
        }
    }
}
