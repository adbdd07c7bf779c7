//! What keeps mails from a person's addresses.

use clap::Subcommand;

pub const SUPPRESSIONS: &str = "\
A hard bounce keeps all mails from an address, a complaint those of its own stream, and soft bounces on three days all of \
them for a week. Another address of the person is free. What is lifted is lifted also for what still comes back of mails \
that left before.

Examples:
  tidings suppressions list ann
  tidings suppressions lift ann
  tidings suppressions lift ann --stream offers";

#[derive(Debug, Subcommand)]
pub enum SuppressionsCommand {
    /// List what keeps mails from a person
    List {
        /// The person, by the id that services use for them
        #[arg(value_name = "PERSON")]
        person: String,
    },
    /// Let mails go to a person again
    Lift {
        /// The person, by the id that services use for them
        #[arg(value_name = "PERSON")]
        person: String,
        /// Only complaints about this stream
        #[arg(long, value_name = "STREAM")]
        stream: Option<String>,
    },
}
