//! `tidings sink`: a mail server for trying mails out, with a page.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use courier_net::smtp::server::SmtpServer;
use listener::{
    Limits, Listener,
    http::{self, Times},
};
use runtime::{Clock, Shutdown};
use serde_json::json;

use super::{Out, live::reachable};
use crate::{
    cli::Sink as Asked,
    config::Config,
    datadir::random_hex,
    failure::Failure,
    http::{
        guard::Guard,
        page::Pages,
        sink::{Inbox, router},
    },
    say,
    sink::{BOUNDS, Sink},
};

/// What it says that it is called.
const NAME: &str = "sink.tidings.invalid";
const SECRET_BYTES: usize = 24;

pub fn run(config: &Config, asked: &Asked, out: Out) -> Result<(), Failure> {
    alone(asked)?;
    super::start_log(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    runtime.block_on(serve(asked, out))
}

/// Nobody who asks shows a key, so nobody else reaches it unless that is said.
fn alone(asked: &Asked) -> Result<(), Failure> {
    if !asked.page.ip().is_loopback() {
        return Err(Failure::refused(format!(
            "--page {}: mails are shown on this machine alone",
            asked.page
        )));
    }
    if !asked.listen.ip().is_loopback() && !asked.from_others {
        let what = "others can reach it, and all that they send is taken; --from-others says that they may";
        return Err(Failure::refused(format!("--listen {}: {what}", asked.listen)));
    }
    Ok(())
}

async fn serve(asked: &Asked, out: Out) -> Result<(), Failure> {
    let stop = Shutdown::default();
    let server = SmtpServer::bind(asked.listen, NAME, BOUNDS).await;
    let server = server.map_err(|error| super::taken(error, asked.listen, "--listen"))?;
    let page = Listener::bind(asked.page, Limits::http()).await;
    let page = page.map_err(|error| super::taken(error, asked.page, "--page"))?;
    let (takes, shows) = (server.address()?, page.address().context("the address")?);
    let sink = Arc::new(Sink::new(Clock::real(0)));
    let guard = Guard::new(shows, false, || random_hex(SECRET_BYTES))?;
    let way = format!("smtp+plain://{}", reachable(takes));
    let inbox = Inbox { sink: sink.clone(), guard, pages: Pages::new()?, way: way.clone() };
    told(&way, shows, out)?;
    let pages = http::serve(page, router(inbox), Times::USUAL, stop.clone());
    tokio::join!(stop.on_signals(), pages, server.serve(sink, stop.clone()));
    Ok(())
}

fn told(way: &str, shows: SocketAddr, out: Out) -> anyhow::Result<()> {
    let address = format!("http://{shows}/");
    if out.json {
        say::json(&json!({"address": address, "way": way}))?;
    } else {
        say::data(&address)?;
        say::talk(format!("a house sends its mails here with TIDINGS_MAIL_WAYS={way}"));
    }
    say::talk("ready; Ctrl-C stops it, and its mails are gone");
    Ok(())
}
