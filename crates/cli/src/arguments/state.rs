//! What is remembered of persons, record by record.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};
use upkeep::state::StatePlace;

pub const STATE: &str = "\
All that is remembered of a person is one record of the topic `windows`. A partition with a record that cannot be read \
stands still, and only that one; it is looked at again once a minute at least. An older version of Tidings cannot read \
what a newer one wrote: then the newer one is the cure. Else a record is named by its partition and offset, as `list` \
has it.

`repair` writes back a record from an export, of the same person. `drop` forgets what was known of the person: what is \
open for them, what was told lately, and marks that their days do not have yet, so that a message may come twice. What \
waits in their days is announced anew. Both work on records that cannot be read, and on no others, and are noted in the \
quarantine, with the old bytes and by whom.

Examples:
  tidings state list
  tidings state export 0@18 --out ann.json
  tidings state repair ann.json
  tidings state drop 0@18";

#[derive(Debug, Subcommand)]
pub enum StateCommand {
    /// List records that cannot be read, and partitions that stand still
    List,
    /// Show one record: why it cannot be read, and its bytes
    Show {
        #[arg(value_name = "RECORD")]
        place: StatePlace,
    },
    /// Write one record to a file, whether it can be read or not
    Export {
        #[arg(value_name = "RECORD")]
        place: StatePlace,
        /// The file; it must not be there
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: PathBuf,
    },
    /// Write a record from an export in the place of one that cannot be read
    Repair {
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Forget a record that cannot be read
    Drop {
        #[arg(value_name = "RECORD")]
        place: StatePlace,
    },
}
