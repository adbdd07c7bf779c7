//! For authors of a catalogue: a folder to begin with, and whether the catalogue works.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use model::{
    DayLife,
    limits::{DAY_LIFE_MAX, DAY_LIFE_MIN},
};

pub const INIT: &str = "\
The new catalogue is named after the folder. It describes a library, with one mail for phones and desktops, \
light and dark, its plain text, two scenarios, and the schema with which an editor completes and explains it; \
change them to suit you. Existing files are never overwritten.

Example:
  tidings init shop";

pub const SCHEMA: &str = "\
The schema accepts what `tidings check` accepts, as far as a schema can tell. An editor with a YAML language \
server uses it for every catalogue that begins with `# yaml-language-server: $schema=PATH`, as those made by \
`tidings init` do.

Example:
  tidings schema > catalogue.schema.json";

pub const CHECK: &str = "\
Each problem is printed with its file, line and column. If there are none, the catalogue is rendered with \
example data and the scenarios in its folder `scenarios` are run. A note is about something that works but \
may not be intended: a sentence with a gap where a field is missing, a sentence that is repeated, a mail \
that mailboxes would cut off.

Each plan's message is rendered in four forms: full, nearly empty, one entry of each kind, and two events \
about one subject. --html writes them to files.

--canary names a catalogue that is to be tried on a share of the persons: `check` refuses the two if they cannot be \
used together. Check that one by itself, too.

With --watch the check runs again whenever a file in the folder changes, until Ctrl-C.

Examples:
  tidings check examples/gallery
  tidings check examples/gallery --only sunday --trace
  tidings check examples/gallery --html looks --strict
  tidings check shop --canary shop-next
  tidings check examples/gallery --watch";

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder to create
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
pub struct CatalogueCheckArgs {
    /// The catalogue's folder
    #[arg(value_name = "CATALOGUE_DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Run only scenarios whose name contains this
    #[arg(long, value_name = "PATTERN")]
    pub only: Option<String>,
    /// Days for which each day and its entries are kept in the house it is for (`day_life`)
    #[arg(long, value_name = "DAYS", default_value_t = DayLife::default().days(), value_parser = clap::value_parser!(u16).range(i64::from(DAY_LIFE_MIN)..=i64::from(DAY_LIFE_MAX)))]
    pub day_life: u16,
    /// Print what happened in each scenario, even if it passed
    #[arg(long)]
    pub trace: bool,
    /// Check again whenever a file in the folder changes
    #[arg(long)]
    pub watch: bool,
    /// Check that this other catalogue can be its canary, too
    #[arg(long, value_name = "CATALOGUE_DIR", value_hint = ValueHint::DirPath)]
    pub canary: Option<PathBuf>,
    /// Treat notes as failures, for builds that allow none
    #[arg(long)]
    pub strict: bool,
    /// Write the messages of each plan to this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub html: Option<PathBuf>,
    /// Print when each plan next closes, in three time zones
    #[arg(long)]
    pub verbose: bool,
}
