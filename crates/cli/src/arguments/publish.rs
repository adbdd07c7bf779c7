//! Commands that tell the house something: changes, facts, feedback.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const PUBLISH: &str = "\
A field is name=value. A value that is valid JSON (a number, true, a list, an object) is taken as JSON, \
anything else as text; a place may be given as latitude and longitude, place=52.5,13.4. A file holds \
CloudEvents as JSON, one a line or in an array. It is sent in pieces; refused changes are listed with their \
line, and the rest goes on.

With --upstream the bytes are appended to the topic `changes` as they are, as a service of yours would do. A \
topic gives no answer: what is refused there goes to quarantine (`tidings quarantine list`). HTTP, and so \
every other `publish`, reports refusals in the answer.

A change may have several subjects, which all get the same fields, and may list the persons to tell, each \
with a score; kinds with `to: listed` tell them.

Examples:
  tidings publish item.published item:1 title=Moon maker=maker:7
  tidings publish item.suggested item:1 --also item:2 --person ann=0.93 --person ben
  tidings publish --file events.ndjson
  generate | tidings publish --file -
  tidings publish --upstream record.avro
  printf 'nonsense' | tidings publish --upstream -";

pub const PERSON: &str = "\
Without fields it shows everything known about the person: profile, devices, follows and preferences, past and \
coming messages, and their days. Addresses and tokens are masked; times are in the person's own zone. If a \
house is running, it is asked.

Fields: zone (Europe/Berlin), email, name, language (BCP 47), place (latitude and longitude, 52.5,13.4), ip_address \
(gives a place, and is not kept), webhook and chat (the addresses to call), quiet, hour, and for each channel, such as \
email, email_off (true) and email_plan (the plan they prefer, where a kind offers several). Any other field is refused. \
An empty value removes the field.

Examples:
  tidings person ann
  tidings person ann name=Ann zone=Europe/Berlin email=ann@example.org
  tidings person ann place=52.5,13.4 email_plan=weekly";

pub const MUTE: &str = "\
Muted things are not told, even if they are waiting already; what was told stays as it is. A thread is named \
by the subject that it belongs to.

Examples:
  tidings mute ann --kind item_published
  tidings mute ann --actor bob
  tidings mute ann --subject item:1
  tidings mute ann --thread item:1";

pub const FEEDBACK: &str = "\
Name an entry as `tidings days PERSON` prints it.

Example:
  tidings feedback read ann 2026-11-21T10:00:00.000Z/0123456789abcdef0123456789abcdef";

pub const REVOKE: &str = "\
What is revoked is told no more: by no message that waits, and in no count. An event is named by the source and id \
with which it was published. A subject that is revoked is deleted: all that there is about it until now.

Examples:
  tidings revoke --event shop 11
  tidings revoke --event shop 11 --subject item:2
  tidings revoke --subject item:1";

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// An event, by its source and id
    #[arg(long, num_args = 2, value_names = ["SOURCE", "ID"], required_unless_present = "subject")]
    pub event: Vec<String>,
    /// A subject that is deleted, as type:id; with --event the one that is meant of a change of several
    #[arg(long, value_name = "SUBJECT")]
    pub subject: Option<String>,
}

#[derive(Debug, Args)]
pub struct PublishArgs {
    /// The type of change, as in a kind's `on`
    #[arg(value_name = "TYPE", required_unless_present_any = ["file", "upstream"])]
    pub what: Option<String>,
    /// The subject, as type:id
    #[arg(required_unless_present_any = ["file", "upstream"])]
    pub subject: Option<String>,
    /// The subject's fields
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,
    /// The change's id; the same source and id is the same change [default: random]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// The source
    #[arg(long, default_value = "command-line")]
    pub source: String,
    /// When it happened, such as 2026-11-21T09:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// The person who did it; they are not told
    #[arg(long, value_name = "PERSON")]
    pub actor: Option<String>,
    /// What to call who did it
    #[arg(long, value_name = "NAME")]
    pub actor_name: Option<String>,
    /// person unless set; of anonymous only a hash of --actor is kept, system needs none
    #[arg(long, value_name = "SORT")]
    pub actor_kind: Option<String>,
    /// Another subject of the change, as type:id
    #[arg(long, value_name = "SUBJECT")]
    pub also: Vec<String>,
    /// A person to tell, with a score of how well it suits them
    #[arg(long = "person", value_name = "PERSON[=SCORE]")]
    pub persons: Vec<String>,
    /// A file of changes, or - for standard input
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["what", "subject", "fields", "id", "at", "actor", "actor_name", "actor_kind", "also", "persons"])]
    pub file: Option<PathBuf>,
    /// Append this file, or - for standard input, to the topic `changes` as one record
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["what", "subject", "fields", "id", "at", "actor", "actor_name", "actor_kind", "also", "persons", "file"])]
    pub upstream: Option<PathBuf>,
    /// Append each line as a record of its own
    #[arg(long, requires = "upstream", conflicts_with = "file")]
    pub lines: bool,
}

#[derive(Debug, Args)]
pub struct FollowArgs {
    /// The person's id, as services know it
    pub person: String,
    /// The subject to follow, as type:id
    pub target: String,
}

#[derive(Debug, Args)]
pub struct MuteArgs {
    /// The person's id, as services know it
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
    /// Everything this person does
    #[arg(long, value_name = "PERSON")]
    pub actor: Option<String>,
    /// One subject, as type:id
    #[arg(long, value_name = "SUBJECT")]
    pub subject: Option<String>,
    /// Everything in the thread of this subject, as type:id
    #[arg(long, value_name = "SUBJECT")]
    pub thread: Option<String>,
}

#[derive(Debug, Args)]
pub struct PersonArgs {
    /// The person's id, as services know it
    pub person: String,
    /// Profile fields to set; omit them to show the person
    #[arg(value_name = "FIELD=VALUE")]
    pub fields: Vec<String>,
}

#[derive(Debug, Args)]
pub struct FeedbackArgs {
    /// What they did with the entries
    #[arg(value_parser = [
        "read", "cleared", "viewed", "unread", "restored", "saved", "unsaved", "snoozed", "unsnoozed",
    ])]
    pub what: String,
    /// The person's id, as services know it
    pub person: String,
    /// The entries, as `tidings days` names them
    #[arg(required = true)]
    pub entries: Vec<String>,
    /// Until when they put them off, in UTC; goes with `snoozed`
    #[arg(long, value_name = "INSTANT", required_if_eq("what", "snoozed"))]
    pub until: Option<String>,
}
