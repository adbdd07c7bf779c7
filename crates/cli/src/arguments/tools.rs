//! The tools of operators and support: release, windows, shares, archive, explain, preview.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};
use views::open_windows::WindowAction;

pub const RELEASE: &str = "\
Sends what each window holds at once, after the usual checks at closing; what is told today is not told \
again tomorrow. With --all the rate is limited to --per-second windows. If you stop it midway, some of the \
windows are released, and you can run it again.

Examples:
  tidings release --plan morning_mail --person ann
  tidings release --plan morning_mail --all --per-second 50";

pub const WINDOWS: &str = "\
Shows each window with its plan and key, when it opened and is due, and why it is open: not due yet, or held \
because the person is online, in quiet hours or over a cap. `announced` is how often an entry was announced to \
it. It is a hint: an entry may be announced twice, and what the window tells is decided when it closes. A \
released window sends what it holds now. A cancelled one sends nothing, and its entries end as `cancelled by \
hand`. Both concern this window only, and none that opens later. --key is needed where the plan has several \
windows. Cancelling cannot be undone: it asks for confirmation on a terminal, and needs --yes elsewhere.

Examples:
  tidings windows ann
  tidings windows ann --release morning_mail
  tidings windows ann --cancel replies --key post:7 --yes";

pub const SHARES: &str = "\
Reads every entry of these days (UTC) as it is now: told on at least one channel, waiting, or ended, with \
each reason. A running house is asked piece by piece and keeps working. Open windows are counted by plan: \
those due now, within a minute, an hour and a day.

Examples:
  tidings shares
  tidings shares --since 21d --json";

pub const ARCHIVE: &str = "\
Writes every row of the days before DAY to an Avro container file, then drops those days, one whole day at a \
time; everything else goes on. Days that a plan may still tell from, or that may still get events, cannot be \
archived yet. Only a running house archives, and it first finishes what is due. If it was interrupted, run \
the same command with the same DAY. With --server the rows come over HTTP and the file is written here; the \
house drops the days once it is shown that the file has every row. The file's schema is schemas/archive.avsc.

Examples:
  tidings archive --before 2026-11-13
  tidings archive --before 16d --out /backup/gallery.avro
  tidings archive --before 16d --server https://news.example.org --token-file operate-token";

pub const EXPLAIN: &str = "\
Name an event by its key, by an entry as `tidings days` prints it, by source/id of the change (which has an \
event for each of its subjects), or by its subject, which explains the latest events about it. A + marks a \
reason for telling the person, a - a reason against.

Examples:
  tidings explain --person ann --event item:1
  tidings explain --person ann --event shop/order-17";

pub const PREVIEW: &str = "\
The message is made by the code that makes real ones, from the person's present profile. It contains the \
newest waiting entries of the kind, or, with --subject, what an event about that subject would bring now, or \
else example data made from the catalogue's types. Nothing is sent and nothing changes; the unsubscribe link \
in it does nothing.

Examples:
  tidings preview item_published --person ann
  tidings preview item_published --person ann --subject item:1 --html item.html";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").required(true).args(["person", "all"]))]
pub struct ReleaseArgs {
    /// The plan
    #[arg(long, value_name = "PLAN")]
    pub plan: String,
    /// Only this person's windows
    #[arg(long, value_name = "PERSON")]
    pub person: Option<String>,
    /// The windows of everybody
    #[arg(long)]
    pub all: bool,
    /// Windows a second
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_windows_per_second)]
    #[arg(conflicts_with = "person")]
    pub per_second: usize,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("act").args(["release", "cancel"]))]
pub struct WindowsArgs {
    /// The person's id, as services know it
    #[arg(value_name = "PERSON")]
    pub person: String,
    /// Close the window of this plan now, and send
    #[arg(long, value_name = "PLAN")]
    pub release: Option<String>,
    /// Close the window of this plan and send nothing
    #[arg(long, value_name = "PLAN")]
    pub cancel: Option<String>,
    /// The window with this key, where the plan has several
    #[arg(long, value_name = "KEY", requires = "act", allow_hyphen_values = true)]
    pub key: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, requires = "cancel", conflicts_with = "release")]
    pub yes: bool,
}

impl WindowsArgs {
    /// What is to be done, and to the window of which plan.
    pub fn deed(&self) -> Option<(&str, WindowAction)> {
        let release = self.release.as_deref().map(|plan| (plan, WindowAction::Release));
        release.or(self.cancel.as_deref().map(|plan| (plan, WindowAction::Cancel)))
    }
}

/// Windows a second, and not none.
fn parse_windows_per_second(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be a whole number, 1 or more".to_owned()),
        Ok(pace) => Ok(pace),
        Err(_) => Err("it must be a whole number, 1 or more".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct SharesArgs {
    /// How far back, in days
    #[arg(long, value_name = "DAYS", default_value = "7d", allow_hyphen_values = true)]
    pub since: String,
    /// The catalogue's folder; a running house uses its own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
}

#[derive(Debug, Args)]
pub struct ArchiveArgs {
    /// Archive the days before this one: a date, or how long ago, such as 16d
    #[arg(long, value_name = "DAY")]
    pub before: String,
    /// The file to write [default: archive-before-DAY.avro]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The person's id, as services know it
    #[arg(long, value_name = "PERSON")]
    pub person: String,
    /// The event, entry, change or subject
    #[arg(long, value_name = "EVENT")]
    pub event: String,
    /// The catalogue's folder; a running house uses its own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
}

#[derive(Debug, Args)]
pub struct PreviewArgs {
    /// A kind; omit it to see what a release would send now
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
    /// The person's id, as services know it
    #[arg(long, value_name = "PERSON")]
    pub person: String,
    /// Only this plan
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<String>,
    /// Only plans of this channel: `email`, `push`, `webhook` or `chat`
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Option<String>,
    /// Pretend that an event about this subject came now
    #[arg(long, value_name = "SUBJECT")]
    pub subject: Option<String>,
    /// The catalogue's folder; a running house uses its own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
    /// Write the HTML of the mail to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}
