//! What tells the house something: changes, facts, feedback.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const PUBLISH: &str = "\
A field is name=value. A value that is JSON (a number, true, a list, an object) is taken as such, \
everything else is text; a place may be its degrees north and east, place=52.5,13.4. A file holds CloudEvents as JSON, one a line or in an array; it is sent in pieces, \
and what is refused is listed with its line while the rest goes on.

With --upstream the bytes go onto the topic `changes` unread, as a service of yours writes there. Nobody \
waits for an answer on a topic: what is refused there goes to quarantine (`tidings quarantine list`), while \
HTTP, and so every other `publish`, refuses in the answer.

A change may be about several subjects, which all get the same fields, and may list the persons whom it is \
for, each with a score; they are told by the kinds that are `to: listed`.

Examples:
  tidings publish item.published item:1 title=Moon maker=maker:7
  tidings publish item.suggested item:1 --also item:2 --person ann=0.93 --person ben
  tidings publish --file events.ndjson
  generate | tidings publish --file -
  tidings publish --upstream record.avro
  printf 'nonsense' | tidings publish --upstream -";

pub const PERSON: &str = "\
Without fields it shows what is known of the person: profile, devices, follows and mutes, what they will get and got, and \
their days. Addresses and tokens are masked; times are in the person's own zone. Beside a running house it asks that house.

Fields that Tidings itself reads: zone (Europe/Berlin), email, name, language (BCP 47), email_off (true), \
place (degrees north and east, 52.5,13.4), email_plan (of several plans that a kind offers, the one by \
which they want their mail), and webhook and chat (where those are called). An empty value takes the field away.

Examples:
  tidings person ann
  tidings person ann name=Ann zone=Europe/Berlin email=ann@example.org
  tidings person ann place=52.5,13.4 email_plan=weekly";

pub const MUTE: &str = "\
What is muted is not told, also if it waits already; what was told stays as it is. A thread is named by the \
subject that it hangs on.

Examples:
  tidings mute ann --kind item_published
  tidings mute ann --actor bob
  tidings mute ann --subject item:1
  tidings mute ann --thread item:1";

pub const FEEDBACK: &str = "\
An entry is named as `tidings days PERSON` prints it.

Example:
  tidings feedback read ann 2026-11-21T10:00:00.000Z/0123456789abcdef0123456789abcdef";

#[derive(Debug, Args)]
pub struct PublishArgs {
    /// What happened, as kinds are `on` it
    #[arg(value_name = "TYPE", required_unless_present_any = ["file", "upstream"])]
    pub what: Option<String>,
    /// What it is about, as type:id
    #[arg(required_unless_present_any = ["file", "upstream"])]
    pub subject: Option<String>,
    /// The subject's fields
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,
    /// The source's own id of this change; the same id is the same change [default: a random one]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Who says so
    #[arg(long, default_value = "command-line")]
    pub source: String,
    /// When it happened, as in 2026-11-21T09:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// The person who did it, who is then not told
    #[arg(long, value_name = "PERSON")]
    pub actor: Option<String>,
    /// A further subject that it is about, as type:id
    #[arg(long, value_name = "SUBJECT")]
    pub also: Vec<String>,
    /// A person whom it is for; the score says how well it suits them
    #[arg(long = "person", value_name = "PERSON[=SCORE]")]
    pub persons: Vec<String>,
    /// A file of changes, or - for the standard input
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["what", "subject", "fields", "id", "at", "actor", "also", "persons"])]
    pub file: Option<PathBuf>,
    /// A file, or - for the standard input, whose bytes go onto the topic `changes` as one record
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["what", "subject", "fields", "id", "at", "actor", "also", "persons", "file"])]
    pub upstream: Option<PathBuf>,
    /// Each line is a record of its own
    #[arg(long, requires = "upstream", conflicts_with = "file")]
    pub lines: bool,
}

#[derive(Debug, Args)]
pub struct FollowArgs {
    /// The person, by the id that services use for them
    pub person: String,
    /// What to follow, as type:id
    pub target: String,
}

#[derive(Debug, Args)]
pub struct MuteArgs {
    /// The person, by the id that services use for them
    pub person: String,
    #[command(flatten)]
    pub muted: MuteTargetArgs,
}

/// What is muted: one of four sorts.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct MuteTargetArgs {
    /// A kind of the catalogue
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// What this person does
    #[arg(long, value_name = "PERSON")]
    pub actor: Option<String>,
    /// One subject, as type:id
    #[arg(long, value_name = "SUBJECT")]
    pub subject: Option<String>,
    /// Everything that hangs on this subject, as type:id
    #[arg(long, value_name = "SUBJECT")]
    pub thread: Option<String>,
}

#[derive(Debug, Args)]
pub struct PersonArgs {
    /// The person, by the id that services use for them
    pub person: String,
    /// Fields of the profile to set; without any, what is known is shown
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,
}

#[derive(Debug, Args)]
pub struct FeedbackArgs {
    /// What they did
    #[arg(value_parser = ["read", "cleared"])]
    pub what: String,
    /// The person, by the id that services use for them
    pub person: String,
    /// Entries, as `tidings days` names them
    #[arg(required = true)]
    pub entries: Vec<String>,
}
