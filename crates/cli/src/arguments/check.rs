//! What whoever writes a catalogue asks for: a folder to begin with, and whether it works.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const INIT: &str = "\
The folder is called like the catalogue. It holds a catalogue of a library, a mail for phones and desks, in light and \
dark, its plain text, two scenarios, and the schema by which an editor completes and explains the catalogue; change \
them into your own. Nothing that is there is written over.

Example:
  tidings init shop";

pub const SCHEMA: &str = "\
The schema is that of `tidings check`, as far as a schema can say it. An editor with a YAML language server uses it for \
every catalogue whose first line is `# yaml-language-server: $schema=PATH`; what `tidings init` makes has it.

Example:
  tidings schema > catalogue.schema.json";

pub const CHECK: &str = "\
Every problem is printed with file, line and column. A catalogue without any is rendered with example data, and the \
scenarios in its folder `scenarios` are played. A note is about what works and is perhaps not meant: a sentence with a \
hole where a field is missing, one that is said twice, a mail that mailboxes cut off.

Each plan's message is made in four forms: full, nearly empty, with one of each kind, and with two events of one \
subject. --html writes them as files to look at.

With --watch all of this is done again whenever a file of the folder changes, until Ctrl-C.

Examples:
  tidings check examples/gallery
  tidings check examples/gallery --only sunday --trace
  tidings check examples/gallery --html looks --strict
  tidings check examples/gallery --watch";

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder that is made
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct CatalogueCheckArgs {
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
    /// Fail on notes too, for builds that keep a catalogue without any
    #[arg(long)]
    pub strict: bool,
    /// Write each plan's messages into this folder, in every form
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub html: Option<PathBuf>,
    /// Print when each plan closes next, in three time zones
    #[arg(long)]
    pub verbose: bool,
}
