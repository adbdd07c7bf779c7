//! The command line: [`arguments`] is what can be said, [`commands`] what each command does.

pub mod arguments;
pub mod commands;
