//! Tracing to the standard error: text for people, JSON lines for machines. ERROR means that a person
//! should look. Addresses and secrets are never fields.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    Text,
    Json,
}

/// Starts logging; a second call changes nothing. `filter` is in the syntax of tracing's `EnvFilter`.
pub fn start_logging(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter).map_err(|e| anyhow::anyhow!("log filter `{filter}`: {e}"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging has been started already");
    }
    Ok(())
}
