//! Tracing to the standard error: text for people, JSON lines for machines. ERROR means that a person
//! should look. Addresses and secrets are never fields.

use std::{io::IsTerminal, sync::OnceLock};

use tracing_subscriber::{EnvFilter, reload};

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    Text,
    Json,
}

/// Changes the filter of the log that was started. There is one log, as there is one standard error.
static FILTER: OnceLock<Box<dyn Fn(EnvFilter) -> anyhow::Result<()> + Send + Sync>> = OnceLock::new();

/// Starts logging; a second call changes nothing. `filter` is in the syntax of tracing's `EnvFilter`.
pub fn start_logging(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = parse_filter(filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => {
            let builder = builder.with_ansi(std::io::stderr().is_terminal()).with_target(false);
            let builder = builder.with_filter_reloading();
            keep_handle(builder.reload_handle());
            builder.try_init()
        }
        LogFormat::Json => {
            let builder = builder.json().with_filter_reloading();
            keep_handle(builder.reload_handle());
            builder.try_init()
        }
    };
    if started.is_err() {
        tracing::debug!("logging has been started already");
    }
    Ok(())
}

/// Uses another filter from here on.
pub fn set_filter(filter: &str) -> anyhow::Result<()> {
    let filter = parse_filter(filter)?;
    FILTER.get().map_or(Ok(()), |set| set(filter))
}

fn parse_filter(filter: &str) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(filter).map_err(|e| anyhow::anyhow!("log filter `{filter}`: {e}"))
}

fn keep_handle<S: 'static>(handle: reload::Handle<EnvFilter, S>) {
    let set = move |filter| handle.reload(filter).map_err(anyhow::Error::from);
    // The first one is that of the log that was started.
    drop(FILTER.set(Box::new(set)));
}
