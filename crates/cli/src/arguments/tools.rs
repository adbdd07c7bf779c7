//! The tools of operators and of whoever asks why: release, windows, shares, archive, explain, preview.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};
use views::open_windows::WindowAction;

pub const RELEASE: &str = "\
What a window holds is told at once, with everything that is asked at a closing; what was told today is not \
told again tomorrow. With --all so many windows a second are released; who stops it in the middle has \
released a part, and may begin again.

Examples:
  tidings release --plan morning_mail --person ann
  tidings release --plan morning_mail --all --per-second 50";

pub const WINDOWS: &str = "\
Each window with its plan and key, when it opened and is due, how many entries were announced to it, and why it is \
open: not due yet, or held since the person is online, in quiet hours or over a cap. A window that is released \
tells what it holds now; one that is cancelled tells nothing, and what it holds ends as `cancelled by hand`. \
Both mean this one window and none that opens later. --key is needed where the plan has several windows. A cancelled \
window cannot be brought back: on a terminal it is asked about first, elsewhere it needs --yes.

Examples:
  tidings windows ann
  tidings windows ann --release morning_mail
  tidings windows ann --cancel replies --key post:7 --yes";

pub const SHARES: &str = "\
Every entry of these days is looked at, by UTC days and as its rows are now: told on a channel at least, waiting, or ended, \
with each reason. A house that runs is asked piece by piece and goes on with its work meanwhile. Of the open windows \
it is said how many are due now, and within a minute, an hour and a day, by plan.

Examples:
  tidings shares
  tidings shares --since 21d --json";

pub const ARCHIVE: &str = "\
Every row of the days before DAY goes to an Avro container file, and then the days are dropped, each as one \
piece, while everything else goes on. Days from which a plan may still tell, or for which events may still \
come, cannot go yet. Only a running house archives, and it begins when it has done all that is due. What was \
interrupted is done by the same command again, with the same DAY. The file's schema is schemas/archive.avsc.

Examples:
  tidings archive --before 2026-11-13
  tidings archive --before 16d --out /backup/gallery.avro";

pub const EXPLAIN: &str = "\
An event is named by its key, by an entry as `tidings days` prints it, by source/id of the change, which has \
an event for each of its subjects, or by its subject, which explains the latest events about it. A + speaks for being told, a - against it.

Examples:
  tidings explain --person ann --event item:1
  tidings explain --person ann --event shop/order-17";

pub const PREVIEW: &str = "\
The message is made by the code that makes those that are sent, of what the person's profile says now. It tells the \
newest entries of the kind that wait for them, or, with --subject, what would come of that subject now, or else \
data that is made up from the catalogue's types. Nothing is sent and nothing changes; its link to end such mails does nothing.

Examples:
  tidings preview item_published --person ann
  tidings preview item_published --person ann --subject item:1 --html item.html";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").required(true).args(["person", "all"]))]
pub struct ReleaseArgs {
    /// The plan whose windows are released
    #[arg(long, value_name = "PLAN")]
    pub plan: String,
    /// For this person
    #[arg(long, value_name = "PERSON")]
    pub person: Option<String>,
    /// For everybody who has a window of it open
    #[arg(long)]
    pub all: bool,
    /// So many windows a second
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_windows_per_second)]
    #[arg(conflicts_with = "person")]
    pub per_second: usize,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("act").args(["release", "cancel"]))]
pub struct WindowsArgs {
    /// The person, by the id that services use for them
    #[arg(value_name = "PERSON")]
    pub person: String,
    /// Close their window of this plan now
    #[arg(long, value_name = "PLAN")]
    pub release: Option<String>,
    /// Close their window of this plan and tell nothing of it
    #[arg(long, value_name = "PLAN")]
    pub cancel: Option<String>,
    /// Of the plan's windows the one with this key
    #[arg(long, value_name = "KEY", requires = "act", allow_hyphen_values = true)]
    pub key: Option<String>,
    /// Cancel without being asked
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
        Ok(0) => Err("with 0 windows a second nothing would ever be released; it is 1 or more".to_owned()),
        Ok(pace) => Ok(pace),
        Err(_) => Err("it is a whole number of windows, 1 or more".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct SharesArgs {
    /// How far back, in days
    #[arg(long, value_name = "DAYS", default_value = "7d", allow_hyphen_values = true)]
    pub since: String,
}

#[derive(Debug, Args)]
pub struct ArchiveArgs {
    /// Days before this one go: a date, or how long ago, such as 16d
    #[arg(long, value_name = "DAY")]
    pub before: String,
    /// The file [default: archive-before-DAY.avro]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The person, by the id that services use for them
    #[arg(long, value_name = "PERSON")]
    pub person: String,
    /// The event
    #[arg(long, value_name = "EVENT")]
    pub event: String,
    /// Folder of the catalogue; a house that runs goes by its own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
}

#[derive(Debug, Args)]
pub struct PreviewArgs {
    /// Only this kind of the catalogue; without it, all that waits, as a release would send it now
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
    /// The person, by the id that services use for them
    #[arg(long, value_name = "PERSON")]
    pub person: String,
    /// Only this plan
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<String>,
    /// Only plans of this channel: `email` or `push`
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Option<String>,
    /// As if it came about this subject now
    #[arg(long, value_name = "SUBJECT")]
    pub subject: Option<String>,
    /// Folder of the catalogue; a house that runs goes by its own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
    /// Write the HTML of the mail to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}
