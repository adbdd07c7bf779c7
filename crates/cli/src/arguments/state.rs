//! The state of persons, record by record.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};
use upkeep::state::StatePlace;

pub const STATE: &str = "\
The state of a person is one record of the topic `windows`. A record that cannot be read stops its \
partition, and only that one; the partition is tried again at least once a minute. An older version of \
Tidings cannot read what a newer one wrote: run the newer one then. Otherwise name the record by partition \
and offset, as `list` prints it.

`repair` writes a record back from an export of the same person. `drop` forgets the state of the person: \
open windows, what was told lately, and marks that their days do not have yet, so that a message may come \
twice. Entries waiting in their days are announced again. Both accept unreadable records only, and leave a \
note in the quarantine with the old bytes and the name of the operator.

Examples:
  tidings state list
  tidings state export 0@18 --out ann.json
  tidings state repair ann.json
  tidings state drop 0@18";

#[derive(Debug, Subcommand)]
pub enum StateCommand {
    /// List unreadable records and the partitions they stop
    List,
    /// Show one record: why it cannot be read, and its bytes
    Show {
        #[arg(value_name = "RECORD")]
        place: StatePlace,
    },
    /// Write one record to a file, readable or not
    Export {
        #[arg(value_name = "RECORD")]
        place: StatePlace,
        /// The file; it must not exist
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: PathBuf,
    },
    /// Replace an unreadable record by one from an export
    Repair {
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Forget an unreadable record
    Drop {
        #[arg(value_name = "RECORD")]
        place: StatePlace,
    },
}
