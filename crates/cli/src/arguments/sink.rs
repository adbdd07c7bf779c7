//! A mail server for trying mails out.

use std::net::SocketAddr;

use clap::Args;

pub const SINK: &str = "\
Accepts every mail, whoever the recipient, and delivers none. The newest thousand are kept in memory until \
it stops. Both addresses must be on this machine, because no password is asked for.

Example, in two terminals:
  tidings sink
  TIDINGS_MAIL_WAYS=smtp+plain://127.0.0.1:2525 tidings up --catalogue examples/gallery --demo";

#[derive(Debug, Args)]
pub struct SinkArgs {
    /// The address of the mail server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2525")]
    pub listen: SocketAddr,
    /// The address of the web page
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8025")]
    pub page: SocketAddr,
    /// Allow an address that other machines can reach; the page stays on this machine
    #[arg(long)]
    pub from_others: bool,
}
