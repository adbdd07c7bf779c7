//! The command line, as clap reads it. What each command does is in [`crate::commands`].

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use house::RoomName;
use model::civil_time::ZoneRules;
use settings::config::{FlagValue, keys};

mod api_key;
mod backup;
mod catalogue;
mod check;
mod clock;
mod completions;
mod erase;
mod health;
mod hooks;
mod mail;
mod pause;
mod publish;
mod push;
mod repartition;
mod replay;
mod sink;
mod size;
mod state;
mod suppressions;
mod tools;
mod unknown;

#[cfg(test)]
mod tests;

pub use api_key::{KeyArgs, KeyCommand, NewApiKeyArgs};
pub use backup::BackupCommand;
pub use catalogue::CatalogueCommand;
pub use check::{CatalogueCheckArgs, InitArgs};
pub use clock::{ClockArgs, DeviceArgs};
pub use completions::CompletionsArgs;
pub use erase::ErasePersonArgs;
pub use health::HealthArgs;
pub use hooks::{HooksArgs, HooksCommand};
pub use mail::{DkimArgs, DkimCommand, NewDkimKeyArgs, SendTestArgs};
pub use pause::PauseCommand;
pub use publish::{FeedbackArgs, FollowArgs, MuteArgs, MuteTargetArgs, PersonArgs, PublishArgs, RevokeArgs};
pub use push::{PushArgs, PushCommand};
pub use repartition::RepartitionArgs;
pub use replay::ReplayArgs;
pub use sink::SinkArgs;
pub use size::SizeArgs;
pub use state::StateCommand;
pub use suppressions::SuppressionsCommand;
pub use tools::{ArchiveArgs, ExplainArgs, PreviewArgs, ReleaseArgs, SharesArgs, WindowsArgs};
pub use unknown::UnknownArgs;

const AFTER: &str = "\
Exit codes:
  0  done
  1  something went wrong
  2  the command line is wrong
  3  a catalogue, the configuration or an input was refused
  4  no house runs on this data directory or at --server, or it does not answer

Flags override the environment (TIDINGS_DATA_DIR, ...), which overrides the configuration file, which overrides \
the defaults; `tidings config` prints every value and its source. Data goes to standard output, messages to \
standard error. Output is coloured on a terminal only, and never with NO_COLOR.

To begin:
  tidings init shop
  tidings check shop
  tidings up --catalogue shop --demo
and open the address it prints.";

const ABOUT: &str = "Tidings turns change events into the few messages that people want.";

/// The version, and by whose rules local times become instants.
fn long_version() -> String {
    format!("{}\ntime zones {}", settings::version::version(), ZoneRules::load_newest().origin())
}

/// The whole line.
#[derive(Debug, Parser)]
#[command(name = "tidings", version = settings::version::version(), long_version = long_version(), about = ABOUT, after_help = AFTER)]
#[command(max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true, infer_subcommands = false)]
pub struct TidingsCli {
    #[command(flatten)]
    pub shared: GlobalArgs,
    #[command(subcommand)]
    pub command: TidingsCommand,
}

/// Flags of every command.
#[derive(Debug, Args)]
pub struct GlobalArgs {
    /// The configuration file [default: tidings.yaml, if it is there]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, env = "TIDINGS_CONFIG")]
    #[arg(help_heading = "Everywhere", hide_env_values = true)]
    pub config: Option<PathBuf>,
    /// The data directory
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Everywhere")]
    pub data_dir: Option<String>,
    /// The tenant to act for; a running house answers for its own tenant only
    #[arg(long, global = true, value_name = "TENANT", help_heading = "Everywhere")]
    pub tenant: Option<String>,
    /// The house to ask, instead of the one on the data directory [env: TIDINGS_SERVER]
    #[arg(long, global = true, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Everywhere")]
    pub server: Option<String>,
    /// The file of an access token for --server [env: TIDINGS_TOKEN_FILE]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Everywhere")]
    pub token_file: Option<String>,
    /// Certificate authorities of --server, a PEM file [env: TIDINGS_CA_FILE]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Everywhere")]
    pub ca_file: Option<String>,
    /// `embedded` or `production`
    #[arg(long, global = true, value_name = "ENGINE", help_heading = "Everywhere")]
    pub engine: Option<String>,
    /// The log filter, such as `info` or `info,digest=debug`
    #[arg(long, global = true, value_name = "FILTER", help_heading = "Everywhere")]
    pub log: Option<String>,
    /// Print data as JSON
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TidingsCommand {
    /// Create a folder with a small working catalogue for you to change
    #[command(after_help = check::INIT)]
    Init(InitArgs),
    /// Run the whole house in one process, with its web page
    #[command(after_help = UP)]
    Up(UpArgs),
    /// Run some rooms in this process, on engines shared with other processes
    #[command(after_help = RUN)]
    Run(RunArgs),
    /// Create the topics, tables and schemas that a house needs in production
    #[command(after_help = MIGRATE)]
    Migrate(MigrateArgs),
    /// Publish a change, or a file of changes
    #[command(after_help = publish::PUBLISH)]
    Publish(PublishArgs),
    /// Make a person follow a subject
    #[command(after_help = "Example:\n  tidings follow ann maker:7")]
    Follow(FollowArgs),
    /// End a follow
    #[command(after_help = "Example:\n  tidings unfollow ann maker:7")]
    Unfollow(FollowArgs),
    /// Mute a kind, an actor, a subject or a thread for a person
    #[command(after_help = publish::MUTE)]
    Mute(MuteArgs),
    /// End a mute
    #[command(after_help = "Example:\n  tidings unmute ann --kind item_published")]
    Unmute(MuteArgs),
    /// Show everything known about a person, or set fields of their profile
    #[command(after_help = publish::PERSON)]
    Person(PersonArgs),
    /// List, add or remove the devices that get a person's pushes
    #[command(after_help = clock::DEVICE)]
    Device(DeviceArgs),
    /// Take back an event, or say that a subject is not there any more
    #[command(after_help = publish::REVOKE)]
    Revoke(RevokeArgs),
    /// Record that a person read or cleared entries
    #[command(after_help = publish::FEEDBACK)]
    Feedback(FeedbackArgs),
    /// Show a person's days: each entry, its reasons and its fate
    #[command(after_help = "Example:\n  tidings days ann --since 3d")]
    Days(DaysArgs),
    /// Show a person's open windows, why each is open and until when; release or cancel one
    #[command(after_help = tools::WINDOWS)]
    Windows(WindowsArgs),
    /// Show for each day the share of entries told and the fates of the rest, and the windows now due
    #[command(after_help = tools::SHARES)]
    Shares(SharesArgs),
    /// Explain why a person was or was not told about an event
    #[command(after_help = tools::EXPLAIN)]
    Explain(ExplainArgs),
    /// Show a message as a person would get it
    #[command(after_help = tools::PREVIEW)]
    Preview(PreviewArgs),
    /// Close a plan's windows now, for one person or for everybody
    #[command(after_help = tools::RELEASE)]
    Release(ReleaseArgs),
    /// List the catalogues that a house took up, or go back to the one before
    #[command(subcommand, after_help = catalogue::CATALOGUE)]
    Catalogue(CatalogueCommand),
    /// Pause a plan, a channel or a tenant at once, list pauses, or end one
    #[command(subcommand, after_help = pause::PAUSE)]
    Pause(PauseCommand),
    /// Append a topic's records once more to repair a failure; prints the plan unless given --execute
    #[command(after_help = replay::REPLAY)]
    Replay(ReplayArgs),
    /// Change the number of partitions while no house runs
    #[command(after_help = repartition::REPARTITION)]
    Repartition(RepartitionArgs),
    /// Mark a stopped house before it is copied, or check topics and tables that were restored
    #[command(subcommand, after_help = backup::BACKUP)]
    Backup(BackupCommand),
    /// Work out partitions, processes, memory and disks for a number of persons
    #[command(after_help = size::SIZE)]
    Size(SizeArgs),
    /// Write old days to a file, then drop them
    #[command(after_help = tools::ARCHIVE)]
    Archive(ArchiveArgs),
    /// Create a key for a service, of which the settings hold the hash
    #[command(after_help = api_key::KEY)]
    Key(KeyArgs),
    /// Create DKIM keys, and show the DNS records they need
    #[command(after_help = mail::DKIM)]
    Dkim(DkimArgs),
    /// Show the keys that sign webhook calls, or send a test call
    #[command(after_help = hooks::HOOKS)]
    Hooks(HooksArgs),
    /// Create the key that identifies the house to browsers (VAPID)
    #[command(after_help = push::PUSH)]
    Push(PushArgs),
    /// Send a test mail and report the outcome
    #[command(after_help = mail::SEND_TEST)]
    SendTest(SendTestArgs),
    /// Run a mail server for trying things out: it shows every mail on a page and delivers none
    #[command(after_help = sink::SINK)]
    Sink(SinkArgs),
    /// Show or lift the bounces and complaints that block mail to a person
    #[command(subcommand, after_help = suppressions::SUPPRESSIONS)]
    Suppressions(SuppressionsCommand),
    /// Erase a person everywhere, with a receipt of what was removed and what remains
    #[command(after_help = erase::ERASE)]
    Erase(ErasePersonArgs),
    /// List messages whose delivery is unknown
    #[command(after_help = unknown::UNKNOWN)]
    Unknown(UnknownArgs),
    /// Ask whether a process is ready, or alive
    #[command(after_help = health::HEALTH)]
    Health(HealthArgs),
    /// Show a demo's clock, or move it forward so that due work runs
    #[command(after_help = clock::CLOCK)]
    Clock(ClockArgs),
    /// Check a catalogue: fields, texts, templates, schedules and scenarios
    #[command(after_help = check::CHECK)]
    Check(CatalogueCheckArgs),
    /// Print the JSON Schema of a catalogue, with which editors complete and explain it
    #[command(after_help = check::SCHEMA)]
    Schema,
    /// Print shell completions
    #[command(after_help = completions::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Run benchmarks, each compared with a raw loop in the same run
    #[command(after_help = BENCH)]
    Bench(BenchCommandArgs),
    /// Print the effective configuration and the source of each value
    #[command(after_help = CONFIG)]
    Config,
    /// List, retry or drop records in quarantine (the dead-letter queue)
    #[command(subcommand, after_help = QUARANTINE)]
    Quarantine(QuarantineCommand),
    /// Inspect and repair state records that cannot be read
    #[command(subcommand, after_help = state::STATE)]
    State(StateCommand),
}

const UP: &str = "\
The data directory holds everything: topics/ store/ outbox/ secret clock lock, webpush.pem of a demo, and \
admin.json while the house runs. The other commands find the running house through admin.json. On Ctrl-C \
every room finishes the work in hand, then stops.

Examples:
  tidings up --catalogue examples/gallery --demo
  tidings up --catalogue my/catalogue --listen 127.0.0.1:0 --data-dir /var/lib/tidings";

const RUN: &str = "\
Needs `engine: production`. A room may run in any number of processes, and a process may run several rooms; \
together they do what `tidings up` does in one process. `run` creates nothing in the engines: `tidings \
migrate` does that. Each process serves /health/live, /health/ready and /metrics at its own --listen \
address. An ingest process also serves /v1, /u and the web page, and the other commands find it through \
admin.json in its data directory. On SIGTERM every room finishes the work in hand and hands its partitions \
to the other processes.

Examples:
  tidings run ingest --listen 127.0.0.1:7280
  tidings run fanout digest --listen 127.0.0.1:7281
  tidings run sender keeper --listen 127.0.0.1:7282";

const MIGRATE: &str = "\
Prints a line for each change made, or `nothing to do`. Running it again is safe, even twice at once. \
Partition counts cannot change here: a topic whose count differs from `partitions` is refused, and `tidings \
repartition` changes the count. With --check nothing is changed, and the exit code is 3 if there is anything \
to do. --tables-only is for a restore (docs/how-to/backup-and-restore.md): the name of the house comes with \
the backup, so none is made.

A release that writes what the one before cannot read says so here and makes nothing, until --no-way-back says \
that only a backup leads back (docs/how-to/upgrade.md).

Examples:
  tidings migrate
  tidings migrate --check";

const CONFIG: &str = "\
Examples:
  tidings config
  TIDINGS_TENANT=other tidings config --json";

const BENCH: &str = "\
Each benchmark runs in a folder of its own and leaves nothing behind. A figure is the median of several \
rounds, printed beside the same work done by hand on the same engine; `oracle` says which result was \
checked, and whether it was correct.

With `--engine production` it runs on Kafka and on ScyllaDB or Cassandra: the configured ones, or those of \
--kafka and --cql (TIDINGS_KAFKA, TIDINGS_CQL), as `make engines` prints them. It creates topics and a \
keyspace of its own there, tidings_bench_..., and removes them. `crowd` and `feed` start processes of their own on \
them and need clusters without passwords and certificates.

Examples:
  tidings bench list
  tidings bench log --size 20000
  tidings bench route --engine production
  tidings bench feed --engine production";

const QUARANTINE: &str = "\
Records that could not be decoded or were not admitted are kept here with the reason; the rest of their \
partition went on. Each has a number.

Examples:
  tidings quarantine list
  tidings quarantine show 12
  tidings quarantine retry 12 13
  tidings quarantine drop --all";

#[derive(Debug, Args)]
pub struct UpArgs {
    /// The catalogue's folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
    /// The address for HTTP and the web page; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Start with sample data and a clock that can be moved forward
    #[arg(long)]
    pub demo: bool,
    /// Start, although the release before cannot read what is then written
    #[arg(long)]
    pub no_way_back: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The rooms to run
    #[arg(value_name = "ROOM", required = true)]
    pub rooms: Vec<RoomName>,
    /// The catalogue's folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
    /// The address for this process's HTTP; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
}

#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Only print what would be done
    #[arg(long)]
    pub check: bool,
    /// Create keyspaces and tables alone, into which a backup is read
    #[arg(long, conflicts_with = "check")]
    pub tables_only: bool,
    /// Go on, although the release before cannot read what is written afterwards
    #[arg(long)]
    pub no_way_back: bool,
}

#[derive(Debug, Args)]
pub struct DaysArgs {
    /// The person's id, as services know it
    pub person: String,
    /// How far back, in days
    #[arg(long, value_name = "DAYS", default_value = "7d")]
    pub since: String,
}

#[derive(Debug, Args)]
pub struct BenchCommandArgs {
    /// The benchmark, or `list`
    #[arg(value_name = "NAME", default_value = "list")]
    pub name: String,
    /// The number of items to use
    #[arg(long, value_name = "N", value_parser = parse_size)]
    pub size: Option<usize>,
    /// With `--engine production`: Kafka brokers, instead of the configured ones
    #[arg(long, value_name = "ADDRESSES", env = "TIDINGS_KAFKA", hide_env_values = true)]
    pub kafka: Option<String>,
    /// With `--engine production`: ScyllaDB or Cassandra nodes, instead of the configured ones
    #[arg(long, value_name = "ADDRESSES", env = "TIDINGS_CQL", hide_env_values = true)]
    pub cql: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List records awaiting a decision
    List,
    /// Show one record in full
    Show {
        #[arg(value_name = "NUMBER")]
        item: u64,
    },
    /// Return records to their topic to be tried again
    Retry(QuarantineItemsArgs),
    /// Discard records without trying them again
    Drop(QuarantineItemsArgs),
}

#[derive(Debug, Args)]
pub struct QuarantineItemsArgs {
    #[arg(value_name = "NUMBER", required_unless_present = "all")]
    pub items: Vec<u64>,
    /// All records
    #[arg(long, conflicts_with = "items")]
    pub all: bool,
}

/// A number of things, and not none.
fn parse_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one item is needed".to_owned()),
        Ok(size) => Ok(size),
        Err(_) => Err("is not a whole number".to_owned()),
    }
}

impl TidingsCli {
    /// The configuration that flags give.
    pub fn flag_values(&self) -> Vec<FlagValue> {
        let mut given = Vec::new();
        let mut add = |name, flag, text: Option<&str>| {
            given.extend(text.map(|text| FlagValue { name, flag, text: text.to_owned() }));
        };
        add(keys::DATA_DIR, "--data-dir", self.shared.data_dir.as_deref());
        add(keys::ENGINE, "--engine", self.shared.engine.as_deref());
        add(keys::TENANT, "--tenant", self.shared.tenant.as_deref());
        add(keys::LOG_FILTER, "--log", self.shared.log.as_deref());
        add(keys::SERVER, "--server", self.shared.server.as_deref());
        add(keys::TOKEN, "--token-file", self.shared.token_file.as_deref());
        add(keys::CA_FILE, "--ca-file", self.shared.ca_file.as_deref());
        if let TidingsCommand::Up(up) = &self.command {
            add(keys::CATALOGUE, "--catalogue", up.catalogue.as_deref());
            add(keys::LISTEN, "--listen", up.listen.as_deref());
            add(keys::DEMO, "--demo", up.demo.then_some("true"));
        }
        if let TidingsCommand::Run(run) = &self.command {
            add(keys::CATALOGUE, "--catalogue", run.catalogue.as_deref());
            add(keys::LISTEN, "--listen", run.listen.as_deref());
        }
        if let TidingsCommand::Bench(bench) = &self.command
            && self.shared.engine.as_deref() == Some(keys::PRODUCTION)
        {
            add(keys::KAFKA_BROKERS, "--kafka", bench.kafka.as_deref());
            add(keys::CQL_CONTACT_POINTS, "--cql", bench.cql.as_deref());
        }
        if let TidingsCommand::Explain(explain) = &self.command {
            add(keys::CATALOGUE, "--catalogue", explain.catalogue.as_deref());
        }
        if let TidingsCommand::Shares(shares) = &self.command {
            add(keys::CATALOGUE, "--catalogue", shares.catalogue.as_deref());
        }
        if let TidingsCommand::Preview(preview) = &self.command {
            add(keys::CATALOGUE, "--catalogue", preview.catalogue.as_deref());
        }
        given
    }
}
