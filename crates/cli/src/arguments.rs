//! The command line, as clap reads it. What each command does is in [`crate::commands`].

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use house::RoomName;
use model::civil_time::ZoneRules;
use settings::config::{FlagValue, keys};

mod check;
mod clock;
mod completions;
mod erase;
mod hooks;
mod mail;
mod publish;
mod push;
mod repartition;
mod replay;
mod sink;
mod state;
mod suppressions;
mod tools;
mod unknown;

#[cfg(test)]
mod tests;

pub use check::{CatalogueCheckArgs, InitArgs};
pub use clock::{ClockArgs, DeviceArgs};
pub use completions::CompletionsArgs;
pub use erase::ErasePersonArgs;
pub use hooks::{HooksArgs, HooksCommand};
pub use mail::{DkimArgs, DkimCommand, NewDkimKeyArgs, SendTestArgs};
pub use publish::{FeedbackArgs, FollowArgs, MuteArgs, MuteTargetArgs, PersonArgs, PublishArgs};
pub use push::{PushArgs, PushCommand};
pub use repartition::RepartitionArgs;
pub use replay::ReplayArgs;
pub use sink::SinkArgs;
pub use state::StateCommand;
pub use suppressions::SuppressionsCommand;
pub use tools::{ArchiveArgs, ExplainArgs, PreviewArgs, ReleaseArgs, SharesArgs, WindowsArgs};
pub use unknown::UnknownArgs;

const AFTER: &str = "\
Exit codes:
  0  done
  1  something went wrong
  2  the command line makes no sense
  3  a catalogue, a configuration or an input was refused
  4  nothing runs on this data directory, or it does not answer

Configuration: defaults, then the file, then the environment (TIDINGS_DATA_DIR, ...), then flags; \
`tidings config` prints what holds and where it comes from. Data goes to the standard output, talk to the \
standard error. Colours only on a terminal, and never with NO_COLOR.

Begin with:
  tidings init shop
  tidings check shop
  tidings up --catalogue shop --demo
and open the address that it prints.";

const ABOUT: &str = "Tidings turns model-change events into the few messages that people want.";

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
    /// Where everything is kept
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Everywhere")]
    pub data_dir: Option<String>,
    /// Whose events and persons these are; a running house is asked of its own tenant alone
    #[arg(long, global = true, value_name = "TENANT", help_heading = "Everywhere")]
    pub tenant: Option<String>,
    /// `embedded` or `production`
    #[arg(long, global = true, value_name = "ENGINE", help_heading = "Everywhere")]
    pub engine: Option<String>,
    /// What is logged, such as `info` or `info,digest=debug`
    #[arg(long, global = true, value_name = "FILTER", help_heading = "Everywhere")]
    pub log: Option<String>,
    /// Print data as JSON
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TidingsCommand {
    /// Make a folder with a small catalogue that works, to be changed into your own
    #[command(after_help = check::INIT)]
    Init(InitArgs),
    /// Run the whole house in this process, with its page
    #[command(after_help = UP)]
    Up(UpArgs),
    /// Run some rooms of the house in this process, on engines that several processes share
    #[command(after_help = RUN)]
    Run(RunArgs),
    /// Make topics, tables and schemas that a house needs in production engines
    #[command(after_help = MIGRATE)]
    Migrate(MigrateArgs),
    /// Publish a change, or a file of them
    #[command(after_help = publish::PUBLISH)]
    Publish(PublishArgs),
    /// Let a person follow a subject
    #[command(after_help = "Example:\n  tidings follow ann maker:7")]
    Follow(FollowArgs),
    /// End a follow
    #[command(after_help = "Example:\n  tidings unfollow ann maker:7")]
    Unfollow(FollowArgs),
    /// Let a person hear no more of a kind, of what somebody does, of a subject or of a thread
    #[command(after_help = publish::MUTE)]
    Mute(MuteArgs),
    /// End a mute
    #[command(after_help = "Example:\n  tidings unmute ann --kind item_published")]
    Unmute(MuteArgs),
    /// Show all that is known of a person, or set fields of their profile
    #[command(after_help = publish::PERSON)]
    Person(PersonArgs),
    /// List the devices on which pushes reach a person, add one or take it away
    #[command(after_help = clock::DEVICE)]
    Device(DeviceArgs),
    /// Say what a person did with entries: read or cleared them
    #[command(after_help = publish::FEEDBACK)]
    Feedback(FeedbackArgs),
    /// Show a person's days: every entry, why it is there and what became of it
    #[command(after_help = "Example:\n  tidings days ann --since 3d")]
    Days(DaysArgs),
    /// Show what is open for a person: which windows, why and until when; release or cancel one
    #[command(after_help = tools::WINDOWS)]
    Windows(WindowsArgs),
    /// Show what share of the entries of each day was told, what became of the others, and how many windows are due
    #[command(after_help = tools::SHARES)]
    Shares(SharesArgs),
    /// Say why a person was or was not told of an event
    #[command(after_help = tools::EXPLAIN)]
    Explain(ExplainArgs),
    /// Show a message of a kind as a person would get it
    #[command(after_help = tools::PREVIEW)]
    Preview(PreviewArgs),
    /// Close windows of a plan now, for one person or for all
    #[command(after_help = tools::RELEASE)]
    Release(ReleaseArgs),
    /// Append records of a topic once more, to make good what went wrong; shows the plan unless it is to execute it
    #[command(after_help = replay::REPLAY)]
    Replay(ReplayArgs),
    /// Give everything that lies by person another number of partitions, while no house runs
    #[command(after_help = repartition::REPARTITION)]
    Repartition(RepartitionArgs),
    /// Write old days to a file and drop them
    #[command(after_help = tools::ARCHIVE)]
    Archive(ArchiveArgs),
    /// Make the keys that mails are signed with, and show what has to stand in the DNS
    #[command(after_help = mail::DKIM)]
    Dkim(DkimArgs),
    /// Show the keys by which those who are called see who calls, and call an address to see whether it arrives
    #[command(after_help = hooks::HOOKS)]
    Hooks(HooksArgs),
    /// Make the key by which browsers know the house
    #[command(after_help = push::PUSH)]
    Push(PushArgs),
    /// Send one mail to an address, by the ways that mails go, and say what became of it
    #[command(after_help = mail::SEND_TEST)]
    SendTest(SendTestArgs),
    /// Take any mail and show it on a page, for trying mails out; nothing goes any further
    #[command(after_help = sink::SINK)]
    Sink(SinkArgs),
    /// Show what keeps mails from a person, because of what came back of them; lift it
    #[command(subcommand, after_help = suppressions::SUPPRESSIONS)]
    Suppressions(SuppressionsCommand),
    /// Erase a person everywhere, and show what was removed and what stays until when
    #[command(after_help = erase::ERASE)]
    Erase(ErasePersonArgs),
    /// List messages of which nobody can say whether they went out
    #[command(after_help = unknown::UNKNOWN)]
    Unknown(UnknownArgs),
    /// Show a demo's clock, or move it forward, so that what is due by then is done
    #[command(after_help = clock::CLOCK)]
    Clock(ClockArgs),
    /// Check a catalogue: fields, texts, templates, schedules, scenarios
    #[command(after_help = check::CHECK)]
    Check(CatalogueCheckArgs),
    /// Print the JSON Schema of a catalogue, by which editors complete and explain it
    #[command(after_help = check::SCHEMA)]
    Schema,
    /// Print what a shell needs to complete this command line
    #[command(after_help = completions::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Measure the engines here, each figure beside a raw loop in the same run
    #[command(after_help = BENCH)]
    Bench(BenchCommandArgs),
    /// Print the effective configuration, with the source of each value
    #[command(after_help = CONFIG)]
    Config,
    /// Look at what could not be used, and decide on it
    #[command(subcommand, after_help = QUARANTINE)]
    Quarantine(QuarantineCommand),
    /// Look at what is remembered of people where it cannot be read, and mend it
    #[command(subcommand, after_help = state::STATE)]
    State(StateCommand),
}

const UP: &str = "\
Everything lies in the data directory: topics/ store/ outbox/ clock, and admin.json while it runs. The \
other commands talk to the running house through that file. Ctrl-C lets every room finish what it has in hand.

Examples:
  tidings up --catalogue examples/gallery --demo
  tidings up --catalogue my/catalogue --listen 127.0.0.1:0 --data-dir /var/lib/tidings";

const RUN: &str = "\
With `engine: production` alone. Each room may run in as many processes as you like, and several rooms in one; \
together they are what `tidings up` is in one process. Nothing is made in the engines: `tidings migrate` does that. \
Each process serves /health/live, /health/ready and /metrics at its own --listen; ingest also /v1, /u and the page, \
and the other commands find it through admin.json in its data directory. SIGTERM lets every room finish what it has \
in hand, and gives its partitions to the others.

Examples:
  tidings run ingest --listen 127.0.0.1:7280
  tidings run fanout digest --listen 127.0.0.1:7281
  tidings run sender keeper --listen 127.0.0.1:7282";

const MIGRATE: &str = "\
A line is printed for each thing that was done, or `nothing to do`. It may be repeated, also by two at once. \
Partition counts are for life: topics that have another count than `partitions` are refused; `tidings repartition` \
is the way to another count. With --check nothing is done, and the exit code is 3 if there is anything to do.

Examples:
  tidings migrate
  tidings migrate --check";

const CONFIG: &str = "\
Examples:
  tidings config
  TIDINGS_TENANT=other tidings config --json";

const BENCH: &str = "\
Each bench runs in a folder of its own and leaves nothing behind. A figure is the median of several rounds, \
beside the same done by hand on the same engine; `oracle` says what was checked, and whether it held.

With `--engine production` it is run on Kafka and ScyllaDB or Cassandra: those that the configuration names, or \
--kafka and --cql (TIDINGS_KAFKA, TIDINGS_CQL), as `make engines` says them. It makes topics and a keyspace of \
its own there, tidings_bench_..., and takes them away.

Examples:
  tidings bench list
  tidings bench log --size 20000
  tidings bench route --engine production";

const QUARANTINE: &str = "\
What could not be decoded or was not admitted waits here, with the reason; the rest of its partition went \
on. An item is named by its number.

Examples:
  tidings quarantine list
  tidings quarantine show 12
  tidings quarantine retry 12 13
  tidings quarantine drop --all";

#[derive(Debug, Args)]
pub struct UpArgs {
    /// Folder of the catalogue
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
    /// Address of page and HTTP; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Allow moving the clock forward, and begin with a little world
    #[arg(long)]
    pub demo: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The rooms
    #[arg(value_name = "ROOM", required = true)]
    pub rooms: Vec<RoomName>,
    /// Folder of the catalogue
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub catalogue: Option<String>,
    /// Address of this process's HTTP; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
}

#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Only say what would be done
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct DaysArgs {
    /// The person, by the id that services use for them
    pub person: String,
    /// How far back, in days
    #[arg(long, value_name = "DAYS", default_value = "7d")]
    pub since: String,
}

#[derive(Debug, Args)]
pub struct BenchCommandArgs {
    /// Which one, or `list`
    #[arg(value_name = "NAME", default_value = "list")]
    pub name: String,
    /// How many things it is done with
    #[arg(long, value_name = "N", value_parser = parse_size)]
    pub size: Option<usize>,
    /// With `--engine production`: brokers of Kafka, before those of the configuration
    #[arg(long, value_name = "ADDRESSES", env = "TIDINGS_KAFKA", hide_env_values = true)]
    pub kafka: Option<String>,
    /// With `--engine production`: nodes of ScyllaDB or Cassandra, likewise
    #[arg(long, value_name = "ADDRESSES", env = "TIDINGS_CQL", hide_env_values = true)]
    pub cql: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List what waits
    List,
    /// Show one item whole
    Show {
        #[arg(value_name = "NUMBER")]
        item: u64,
    },
    /// Put items back where they came from, to be tried again
    Retry(QuarantineItemsArgs),
    /// Settle items without trying them again
    Drop(QuarantineItemsArgs),
}

#[derive(Debug, Args)]
pub struct QuarantineItemsArgs {
    #[arg(value_name = "NUMBER", required_unless_present = "all")]
    pub items: Vec<u64>,
    /// All that wait
    #[arg(long, conflicts_with = "items")]
    pub all: bool,
}

/// A number of things, and not none.
fn parse_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("nothing can be measured with no things".to_owned()),
        Ok(size) => Ok(size),
        Err(_) => Err("is no whole number".to_owned()),
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
        if let TidingsCommand::Preview(preview) = &self.command {
            add(keys::CATALOGUE, "--catalogue", preview.catalogue.as_deref());
        }
        given
    }
}
