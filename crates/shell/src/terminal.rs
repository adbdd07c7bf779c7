//! What the program writes: data to the standard output, talk to the standard error. The one place that
//! touches either; both are plain where there is no terminal or `NO_COLOR` asks for that.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write as _},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::Context as _;
use clap::builder::styling::{AnsiColor, Style};
use runtime::clock::SteadyStopwatch;
use serde::Serialize;
use settings::config::Config;

use crate::failure::CommandError;

/// How data is printed.
#[derive(Clone, Copy, Debug)]
pub struct OutputStyle {
    pub json: bool,
}

/// The few looks that texts have.
pub const BOLD: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();
pub const WARN: Style = AnsiColor::Yellow.on_default();

/// Whether a stream has colours.
#[derive(Clone, Copy, Debug)]
pub struct TextPainter(bool);

impl TextPainter {
    pub fn for_data() -> Self {
        Self::for_stream(&io::stdout())
    }

    pub fn for_talk() -> Self {
        Self::for_stream(&io::stderr())
    }

    fn for_stream(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self(stream.is_terminal() && !refused && !dumb)
    }

    /// A text in a style.
    pub fn with(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

/// Data: a line to the standard output.
pub fn print_data(line: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Data for machines: one JSON value, on one line.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    print_data(serde_json::to_string(value).map_err(io::Error::other)?)
}

/// Whether whoever reads the standard error is a machine: what is said there is then a line of the log.
static FOR_MACHINES: AtomicBool = AtomicBool::new(false);

/// From here on the standard error is for machines.
pub fn talk_to_machines() {
    FOR_MACHINES.store(true, Ordering::Relaxed);
}

/// Talk: a line to the standard error. Who closed it does not want to hear it.
pub fn print_talk(line: impl Display) {
    if FOR_MACHINES.load(Ordering::Relaxed) {
        tracing::info!("{line}");
        return;
    }
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Why the program ends.
pub fn print_failure(why: &str) {
    if FOR_MACHINES.load(Ordering::Relaxed) {
        tracing::error!("{why}");
    } else {
        print_talk(format!("{} {why}", TextPainter::for_talk().with(BAD, "tidings:")));
    }
}

/// Asks before what cannot be taken back. Where nobody can answer it has to be said beforehand.
pub fn confirm(question: &str) -> Result<bool, CommandError> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let why = "this cannot be undone, and there is no terminal to ask for confirmation; add --yes";
        return Err(CommandError::Usage(why.to_owned()));
    }
    write!(io::stderr().lock(), "{question} [y/N] ").context("ask")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("read the answer")?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Shows how far something is: on a terminal on one line that is written over, elsewhere not at all.
pub fn print_progress(text: impl Display) {
    if io::stderr().is_terminal() {
        drop(write!(io::stderr().lock(), "\r\x1b[K{text}"));
    }
}

/// Where nobody sees the progress line, a line is said so often instead.
const TALK_EVERY: Duration = Duration::from_secs(10);

/// How far some long work is, for who watches it and for a log alike.
pub struct ProgressLine {
    watch: SteadyStopwatch,
    talked: Duration,
}

impl ProgressLine {
    pub fn start() -> Self {
        Self { watch: SteadyStopwatch::start(), talked: Duration::ZERO }
    }

    pub fn show(&mut self, text: impl Display) {
        if io::stderr().is_terminal() {
            print_progress(text);
        } else if self.is_due(self.watch.elapsed()) {
            print_talk(text);
        }
    }

    /// Whether it is time for a line again.
    fn is_due(&mut self, elapsed: Duration) -> bool {
        let is_due = elapsed >= self.talked + TALK_EVERY;
        if is_due {
            self.talked = elapsed;
        }
        is_due
    }
}

/// Takes the progress line away.
pub fn progress_done() {
    print_progress("");
}

/// A table whose columns line up; the last one is as long as it likes.
pub fn format_table<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        // By hand: a width of the format macros has 16 bits.
        let pad = |cell: &String, width: usize| " ".repeat(width.saturating_sub(cell.chars().count()));
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell}{}", pad(cell, width)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Rows in columns, below a head.
pub fn format_headed_table<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Vec<String> {
    format_table(&std::iter::once(head.map(str::to_owned)).chain(rows).collect::<Vec<_>>())
}

/// Data: the lines of a table, of which the first is its head.
pub fn print_headed_table(lines: Vec<String>) -> io::Result<()> {
    let mut lines = lines.into_iter();
    if let Some(head) = lines.next() {
        print_data(TextPainter::for_data().with(FAINT, head))?;
    }
    lines.try_for_each(print_data)
}

/// Text from outside, made fit for a terminal: no control characters, so nothing can move the cursor or
/// change a line that was written before.
pub fn clean_text(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Starts the log, in the format that everything said there has from then on.
pub fn start_log(config: &Config) -> Result<(), CommandError> {
    runtime::log::start_logging(&config.log.filter, config.log.format).map_err(CommandError::Refused)?;
    if config.log.format == runtime::log::LogFormat::Json {
        talk_to_machines();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "bb".to_owned()], ["änn".to_owned(), "c".to_owned()]];
        assert_eq!(format_table(&rows), ["a    bb", "änn  c"]);
    }

    #[test]
    fn only_a_yes_is_one() {
        let check = |answer: &str, expected: bool| assert_eq!(is_yes(answer), expected, "{answer:?}");
        for answer in ["y\n", "Y\n", "yes\n", " YES \r\n"] {
            check(answer, true);
        }
        for answer in ["", "\n", "n\n", "yess\n", "release\n", "\u{1b}y\n"] {
            check(answer, false);
        }
    }

    #[test]
    fn a_log_is_told_now_and_then() {
        let mut progress = ProgressLine::start();
        let due = [0, 9, 10, 11, 19, 20, 45, 46, 55].map(|secs| progress.is_due(Duration::from_secs(secs)));
        assert_eq!(due, [false, false, true, false, false, true, true, false, true]);
    }

    #[test]
    fn nothing_from_outside_moves_the_cursor() {
        assert_eq!(clean_text("a\u{1b}[2Jb\rc\u{9b}d"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d");
    }
}
