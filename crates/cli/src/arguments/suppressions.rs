//! Bounces and complaints that block mail to a person.

use clap::Subcommand;

pub const SUPPRESSIONS: &str = "\
A hard bounce blocks all mail to an address, a complaint blocks its own stream, and soft bounces on three \
days block all mail for a week. Other addresses of the person are not affected. Lifting also covers what \
still comes back from mails sent before.

Examples:
  tidings suppressions list ann
  tidings suppressions lift ann
  tidings suppressions lift ann --stream offers";

#[derive(Debug, Subcommand)]
pub enum SuppressionsCommand {
    /// List what blocks mail to a person
    List {
        /// The person's id, as services know it
        #[arg(value_name = "PERSON")]
        person: String,
    },
    /// Allow mail to a person again
    Lift {
        /// The person's id, as services know it
        #[arg(value_name = "PERSON")]
        person: String,
        /// Lift only complaints about this stream
        #[arg(long, value_name = "STREAM")]
        stream: Option<String>,
    },
}
