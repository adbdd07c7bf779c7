//! The program `tidings`; see `tidings --help`.

mod compose;

use std::process::ExitCode;

use cli::commands;

/// Requests and turns are many small things that one thread makes and another drops, which the usual allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match commands::main(compose::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            commands::report_failure(&failure);
            failure.into()
        }
    }
}
