//! From a house that runs to its end: what can be waited for is waited for, and all is closed in good order.

use std::time::Duration;

use anyhow::anyhow;
use console::{SwappableRouter, standby::StandbyReason};
use runtime::{ShutdownSignal, clock::SteadyStopwatch};
use shell::{failure::CommandError, terminal};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

use crate::{
    context::{HouseEnd, ProcessContext, ProcessHouse},
    reload::{ProcessChange, ReloadWatch},
};

/// How long requests in flight may take when the house stops.
pub const LAST_REQUESTS: Duration = Duration::from_secs(5);
/// How long door and rooms may take together at the end, before the rooms are left where they stand; and how long it
/// may take to let go of engines, which may be away. Whoever runs us is told to allow 20 s.
const LAST_TURNS: Duration = Duration::from_secs(15);
const LETTING_GO: Duration = Duration::from_secs(4);

/// Lives until somebody asks us to stop, or until what cannot be waited for; goes on by itself after a disk
/// was full or an engine away. What is left of the house is given back, with what ended it.
pub async fn run_until_stopped(
    site: &mut ProcessContext,
    mut home: ProcessHouse,
    (front, reloads): (&SwappableRouter, &mut ReloadWatch),
    stop: &ShutdownSignal,
) -> (Option<ProcessHouse>, Option<anyhow::Error>) {
    loop {
        let change = tokio::select! {
            end = home.wait_for_end(site, stop) => Err(end),
            change = reloads.wait_for_change(site, &home.house) => Ok(change),
        };
        let (why, is_full) = match change {
            Err(HouseEnd::Asked) => return (Some(home), None),
            Err(HouseEnd::Failed(error)) => return (Some(home), Some(error)),
            Err(HouseEnd::NoRoom(why)) => (why, true),
            Err(HouseEnd::Away(why)) => (why, false),
            Ok(change) => match change_house(site, home, (front, reloads), change, stop).await {
                Ok(Some(again)) => {
                    home = again;
                    continue;
                }
                Ok(None) => return (None, None),
                Err(error) => return (None, Some(error.context("reload"))),
            },
        };
        if is_full {
            tracing::error!(
                why,
                "no disk space for the engines; the house stops, and resumes by itself when there is"
            );
            terminal::print_talk(format!(
                "no disk space for the engines in {} ({why}); waiting for space",
                site.data.path().display()
            ));
            front.swap(site.full_disk_router());
        } else {
            tracing::error!(
                why,
                "an engine is unreachable; the house stops, and resumes by itself when it is back"
            );
            terminal::print_talk("an engine is unreachable; waiting for it");
            front.swap(site.waiting_router(StandbyReason::Away));
        }
        let closed = tokio::select! {
            // Whoever asks now does not wait: the rooms pick up where they were.
            () = stop.wait() => return (None, None),
            closed = home.close() => closed,
        };
        if let Err(error) = closed {
            return (None, Some(error.context(why)));
        }
        let reopened = tokio::select! {
            () = stop.wait() => return (None, None),
            reopened = site.reopen_when_room(), if is_full => reopened,
            reopened = site.reopen_when_back(), if !is_full => reopened,
        };
        match reopened {
            Ok((again, router)) => {
                home = again;
                front.swap(router);
                tracing::info!("the house goes on");
                terminal::print_talk(if is_full {
                    "there is disk space again; the house resumes"
                } else {
                    "the house goes on"
                });
            }
            Err(error) => return (None, Some(error.context("open the engines again"))),
        }
    }
}

/// Closes a house and begins the next with what is new; with what was before, if nothing begins with that. `None` if it was
/// asked to stop meanwhile.
async fn change_house(
    site: &mut ProcessContext,
    home: ProcessHouse,
    (front, reloads): (&SwappableRouter, &mut ReloadWatch),
    change: ProcessChange,
    stop: &ShutdownSignal,
) -> anyhow::Result<Option<ProcessHouse>> {
    let watch = SteadyStopwatch::start();
    front.swap(site.waiting_router(StandbyReason::Reload));
    tokio::select! {
        () = stop.wait() => return Ok(None),
        closed = home.close() => closed?,
    }
    let before = change.apply(site);
    let opened = tokio::select! {
        () = stop.wait() => return Ok(None),
        opened = site.reopen_when_back() => opened,
    };
    let (again, router) = match opened {
        Ok(opened) => {
            reloads.confirm(site, before);
            opened
        }
        Err(error) => {
            tracing::error!(
                error = format!("{error:#}"),
                "no house begins with what is new; it goes on with what was before"
            );
            reloads.reject();
            before.apply(site);
            tokio::select! {
                () = stop.wait() => return Ok(None),
                opened = site.reopen_when_back() => opened?,
            }
        }
    };
    front.swap(router);
    let (name, hash) = (site.catalogue.name.as_str(), format!("{:016x}", site.catalogue.hash));
    tracing::info!(catalogue = name, hash, ms = watch.elapsed().as_millis(), "reloaded");
    terminal::print_talk(format!("reloaded in {} ms: catalogue {name}", watch.elapsed().as_millis()));
    Ok(Some(again))
}

/// Closes the door first, then the rooms, then the engines. A second signal does not wait.
pub async fn close_process(
    home: Option<ProcessHouse>,
    mut server: JoinHandle<()>,
    stop: ShutdownSignal,
    why: Option<anyhow::Error>,
) -> Result<(), CommandError> {
    let watch = SteadyStopwatch::start();
    terminal::print_talk("stopping: every room finishes what it has in hand");
    stop.start();
    if let Some(home) = &home {
        home.house.end_streams();
    }
    let again = ShutdownSignal::default();
    let orderly = async {
        if timeout(LAST_REQUESTS, &mut server).await.is_err() {
            server.abort();
        }
        match &home {
            Some(home) => home.stop().await,
            None => Ok(()),
        }
    };
    let stopped = tokio::select! {
        stopped = timeout(LAST_TURNS, orderly) => stopped.ok(),
        () = again.start_on_signals() => None,
    };
    let stopped = stopped.unwrap_or_else(|| {
        Err(anyhow!("not waited for: the rooms pick up where they were when the house starts again"))
    });
    if timeout(LETTING_GO, spawn_blocking(move || drop(home))).await.is_err() {
        tracing::warn!("the engines take too long to close; they are left open");
    }
    match why {
        Some(error) => Err(CommandError::Failed(error)),
        None => {
            stopped?;
            terminal::print_talk(format!("stopped in {} ms", watch.elapsed().as_millis()));
            Ok(())
        }
    }
}
