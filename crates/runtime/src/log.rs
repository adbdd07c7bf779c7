//! Tracing to the standard error: text for people, JSON lines for machines. ERROR means that a person
//! should look. Addresses and secrets are never fields.

use std::{fmt, io::IsTerminal, sync::OnceLock};

use tracing::{Event, Subscriber};
use tracing_subscriber::{
    EnvFilter,
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Json, Writer},
    },
    registry::LookupSpan,
    reload,
};

use crate::trace_scope::{IdDigits, TraceScope, current_scope};

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
            let builder = builder.json().map_event_format(TracedJson).with_filter_reloading();
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

/// JSON whose lines name the span in which they were written, if that is recorded: so lines are found from traces, and
/// traces from lines.
struct TracedJson(Format<Json>);

impl<S, N> FormatEvent<S, N> for TracedJson
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(scope) = current_scope() else { return self.0.format_event(context, writer, event) };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&name_scope(&line, scope))
    }
}

/// A line that is a JSON object, with the ids in front.
fn name_scope(line: &str, TraceScope { trace, span }: TraceScope) -> String {
    match line.strip_prefix('{') {
        Some(rest) => {
            format!(r#"{{"trace_id":"{}","span_id":"{}",{rest}"#, IdDigits(&trace), IdDigits(&span))
        }
        None => line.to_owned(),
    }
}

fn parse_filter(filter: &str) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(filter).map_err(|e| anyhow::anyhow!("log filter `{filter}`: {e}"))
}

fn keep_handle<S: 'static>(handle: reload::Handle<EnvFilter, S>) {
    let set = move |filter| handle.reload(filter).map_err(anyhow::Error::from);
    // The first one is that of the log that was started.
    drop(FILTER.set(Box::new(set)));
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use tracing_subscriber::util::SubscriberInitExt as _;

    use super::*;
    use crate::trace_scope::with_scope;

    #[derive(Clone, Default)]
    struct SharedLines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for SharedLines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_line_names_the_span_in_which_it_was_written() {
        let lines = SharedLines::default();
        let writer = lines.clone();
        let builder = tracing_subscriber::fmt().with_writer(move || writer.clone());
        let _guard = builder.json().map_event_format(TracedJson).finish().set_default();
        tracing::info!(rows = 1, "outside");
        let scope = Some(TraceScope { trace: [0xAB; 16], span: [1; 8] });
        with_scope(scope, async { tracing::info!(rows = 2, "inside") }).await;
        with_scope(None, async { tracing::info!(rows = 3, "outside again") }).await;
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let found: Vec<&str> = text.lines().collect();
        let ids = format!(r#"{{"trace_id":"{}","span_id":"{}","timestamp""#, "ab".repeat(16), "01".repeat(8));
        let named: Vec<bool> = found.iter().map(|line| line.starts_with(&ids)).collect();
        assert_eq!(named, [false, true, false], "{text}");
        assert!(found.iter().all(|line| line.ends_with('}')), "{text}");
    }
}
