//! `tidings sink`: a mail server for trying mails out, with a page.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use console::{
    page::PageTemplates,
    sink::{SinkApp, router},
    trial_mailbox::{BOUNDS, TrialMailbox},
};
use courier_net::smtp::server::SmtpServer;
use lifecycle::start::reachable_address;
use listener::{
    LimitedListener, ListenerLimits,
    http::{self, ServeTimeouts},
};
use runtime::{Clock, ShutdownSignal};
use serde_json::json;
use settings::config::Config;
use shell::{datadir::random_hex, failure::CommandError, terminal};
use web::RequestGuard;

use super::OutputStyle;
use crate::arguments::SinkArgs as Asked;

/// What it says that it is called.
const NAME: &str = "sink.tidings.invalid";
const SECRET_BYTES: usize = 24;

pub fn run(config: &Config, asked: &Asked, out: OutputStyle) -> Result<(), CommandError> {
    check_reachability(asked)?;
    shell::terminal::start_log(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    runtime.block_on(serve_sink(asked, out))
}

/// Clients show no key, so other machines are kept out unless they are explicitly allowed.
fn check_reachability(asked: &Asked) -> Result<(), CommandError> {
    if !asked.page.ip().is_loopback() {
        return Err(CommandError::from_refusal(format!(
            "--page {}: the page may listen on this machine only",
            asked.page
        )));
    }
    if !asked.listen.ip().is_loopback() && !asked.from_others {
        let what = "other machines could send mails to it; allow that with --from-others";
        return Err(CommandError::from_refusal(format!("--listen {}: {what}", asked.listen)));
    }
    Ok(())
}

async fn serve_sink(asked: &Asked, out: OutputStyle) -> Result<(), CommandError> {
    let stop = ShutdownSignal::default();
    let server = SmtpServer::bind(asked.listen, NAME, BOUNDS).await;
    let server =
        server.map_err(|error| shell::failure::explain_bind_error(error, asked.listen, "--listen"))?;
    let page = LimitedListener::bind(asked.page, ListenerLimits::for_http()).await;
    let page = page.map_err(|error| shell::failure::explain_bind_error(error, asked.page, "--page"))?;
    let (takes, shows) = (server.address()?, page.address().context("read the listening address")?);
    let sink = Arc::new(TrialMailbox::new(Clock::real(0)));
    let guard = RequestGuard::new(shows, false, || random_hex(SECRET_BYTES))?;
    let way = format!("smtp+plain://{}", reachable_address(takes));
    let inbox = SinkApp { sink: sink.clone(), guard, pages: PageTemplates::new()?, way: way.clone() };
    print_addresses(&way, shows, out)?;
    let pages = http::serve_http(page, router(inbox), ServeTimeouts::USUAL, stop.clone());
    tokio::join!(stop.start_on_signals(), pages, server.serve(sink, stop.clone()));
    Ok(())
}

fn print_addresses(way: &str, shows: SocketAddr, out: OutputStyle) -> anyhow::Result<()> {
    let address = format!("http://{shows}/");
    if out.json {
        terminal::print_json(&json!({"address": address, "way": way}))?;
    } else {
        terminal::print_data(&address)?;
        terminal::print_talk(format!("a house sends its mails here with TIDINGS_MAIL_WAYS={way}"));
    }
    terminal::print_talk("ready; Ctrl-C stops it and discards its mails");
    Ok(())
}
