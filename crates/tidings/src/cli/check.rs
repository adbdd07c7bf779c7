//! What whoever writes a catalogue asks for: whether it works.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const CHECK: &str = "\
Every problem is printed with file, line and column. A catalogue without any is rendered with example data, and the \
scenarios in its folder `scenarios` are played. A note is about what works and is perhaps not meant.

With --watch all of this is done again whenever a file of the folder changes, until Ctrl-C.

Examples:
  tidings check examples/gallery
  tidings check examples/gallery --only sunday --trace
  tidings check examples/gallery --watch";

#[derive(Debug, Args)]
pub struct Check {
    /// Folder of the catalogue
    #[arg(value_name = "CATALOGUE_DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Play only the scenarios that have this in their name
    #[arg(long, value_name = "PATTERN")]
    pub only: Option<String>,
    /// Print what happened in each scenario, also if it passed
    #[arg(long)]
    pub trace: bool,
    /// Check again whenever a file of the folder changes
    #[arg(long)]
    pub watch: bool,
    /// Print when each plan closes next, in three time zones
    #[arg(long)]
    pub verbose: bool,
}
