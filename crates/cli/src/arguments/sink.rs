//! What somebody who tries mails out asks for.

use std::net::SocketAddr;

use clap::Args;

pub const SINK: &str = "\
Every mail is taken, whoever it is to, and none goes any further. The newest thousand are kept in memory and are gone \
when it ends. Both addresses are of this machine, for nobody is asked for a password.

Example, in two terminals:
  tidings sink
  TIDINGS_MAIL_WAYS=smtp+plain://127.0.0.1:2525 tidings up --catalogue examples/gallery --demo";

#[derive(Debug, Args)]
pub struct SinkArgs {
    /// Where mails are taken
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2525")]
    pub listen: SocketAddr,
    /// Where they can be looked at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8025")]
    pub page: SocketAddr,
    /// Take mails at an address that others can reach, too; the page stays on this machine
    #[arg(long)]
    pub from_others: bool,
}
