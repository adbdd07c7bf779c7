//! What each command does. They say what they find through [`shell::terminal`], and fail with an exit code.

use std::sync::Arc;

use clap::Parser as _;
use lifecycle::start::{ProcessRunner, ProcessSettings};
use model::fault::{self, PlantedFault};
use rustix::{fs::Mode, process::umask};
use settings::config::{self, Config, MergedConfig};
use shell::{failure::CommandError, terminal, terminal::OutputStyle};
use source_text::suggest_name;

use crate::arguments::{TidingsCli, TidingsCommand};

mod access;
mod api_key;
mod archive;
mod backup;
mod bench;
mod catalogue;
mod check;
mod clock;
mod completions;
mod days;
mod device;
mod effective_config;
mod erase;
mod explain;
mod health;
mod hooks;
mod init;
mod mail;
mod migrate;
mod pause;
mod person;
mod preview;
mod publish;
mod push;
mod quarantine;
mod release;
mod repartition;
mod replay;
mod run;
mod schema;
mod shares;
mod sink;
mod size;
mod state;
mod suppressions;
mod unknown;
mod up;
mod windows;

#[cfg(test)]
mod tests;

/// Runs the program: reads the command line and the configuration, and does what is asked.
pub fn main(run_process: ProcessRunner) -> Result<(), CommandError> {
    // First of all: what is made from here on is for this user alone, whatever makes it.
    umask(Mode::RWXG | Mode::RWXO);
    listener::file_limit::raise_file_limit();
    let cli = match TidingsCli::try_parse() {
        Ok(cli) => cli,
        Err(said) => {
            // Help and version are data, everything else is talk; clap knows which is which.
            said.print()?;
            return if said.exit_code() == 0 {
                Err(CommandError::Closed)
            } else {
                Err(CommandError::Usage(String::new()))
            };
        }
    };
    if let Some(name) = fault::find_misspelt() {
        if !fault::CAN_PLANT {
            let why = format!(
                "{}={name}: this program was built without `--features faults` and cannot plant faults",
                fault::VARIABLE
            );
            return Err(CommandError::from_refusal(why));
        }
        let help = suggest_name(&name, PlantedFault::ALL.iter().map(|fault| fault.name()));
        return Err(CommandError::from_refusal(format!(
            "`{name}` of {} is not a fault: {help}",
            fault::VARIABLE
        )));
    }
    refuse_server_flag(&cli)?;
    let settings = settings_reader(&cli);
    run_command(cli.command, settings, OutputStyle { json: cli.shared.json }, run_process)
}

/// What a command does not ask for is not read: `check` works beside a configuration that is wrong.
fn run_command(
    command: TidingsCommand,
    settings: impl Fn() -> Result<MergedConfig, CommandError>,
    out: OutputStyle,
    run_process: ProcessRunner,
) -> Result<(), CommandError> {
    let config = || settings().map(|merged| merged.config);
    let process = || settings().map(|merged| process_settings(warn_of_open_secrets(merged)));
    match command {
        TidingsCommand::Init(init) => init::run(&init, out),
        TidingsCommand::Up(up) => {
            let way_back = migrate::way_back(up.no_way_back);
            let spec = Box::new(move |config| up::whole_house_spec(config, way_back));
            run_process(spec, process()?, out)
        }
        TidingsCommand::Run(run) => {
            let process = process()?;
            run_process(run::rooms_spec(&process.config, &run)?, process, out)
        }
        TidingsCommand::Migrate(migrate) => migrate::run(&config()?, &migrate, out),
        TidingsCommand::Publish(publish) => publish::publish_change(&config()?, publish, out),
        TidingsCommand::Follow(follow) => publish::publish_follow(&config()?, &follow, "tidings.follow", out),
        TidingsCommand::Unfollow(follow) => {
            publish::publish_follow(&config()?, &follow, "tidings.unfollow", out)
        }
        TidingsCommand::Mute(mute) => publish::publish_mute(&config()?, &mute, "tidings.mute", out),
        TidingsCommand::Unmute(mute) => publish::publish_mute(&config()?, &mute, "tidings.unmute", out),
        TidingsCommand::Person(asked) if asked.fields.is_empty() => {
            person::run(&config()?, &asked.person, out)
        }
        TidingsCommand::Person(person) => publish::publish_profile(&config()?, &person, out),
        TidingsCommand::Device(device) => device::run(&config()?, &device, out),
        TidingsCommand::Revoke(revoked) => publish::publish_revocation(&config()?, &revoked, out),
        TidingsCommand::Feedback(feedback) => publish::publish_feedback(&config()?, &feedback, out),
        TidingsCommand::Days(days) => days::run(&config()?, &days, out),
        TidingsCommand::Windows(asked) => windows::run(&config()?, &asked, out),
        TidingsCommand::Shares(asked) => shares::run(&config()?, &asked, out),
        TidingsCommand::Explain(explain) => explain::run(&config()?, &explain, out),
        TidingsCommand::Preview(preview) => preview::run(&config()?, &preview, out),
        TidingsCommand::Release(release) => release::run(&config()?, &release, out),
        TidingsCommand::Catalogue(asked) => catalogue::run(&config()?, &asked, out),
        TidingsCommand::Pause(asked) => pause::run(&config()?, &asked, out),
        TidingsCommand::Replay(replay) => replay::run(&config()?, &replay, out),
        TidingsCommand::Repartition(asked) => repartition::run(&config()?, &asked, out),
        TidingsCommand::Backup(asked) => backup::run(&config()?, &asked, out),
        TidingsCommand::Size(asked) => size::run(&asked, out),
        TidingsCommand::Archive(archive) => archive::run(&config()?, &archive, out),
        TidingsCommand::Key(asked) => api_key::run(&config()?, &asked, out),
        TidingsCommand::Dkim(asked) => mail::run_dkim(&config()?, &asked, out),
        TidingsCommand::Hooks(asked) => hooks::run(&config()?, &asked, out),
        TidingsCommand::Push(asked) => push::run(&asked, out),
        TidingsCommand::SendTest(asked) => mail::send_test(&config()?, &asked, out),
        TidingsCommand::Sink(asked) => sink::run(&config()?, &asked, out),
        TidingsCommand::Suppressions(asked) => suppressions::run(&config()?, &asked, out),
        TidingsCommand::Erase(asked) => erase::run(&config()?, &asked, out),
        TidingsCommand::Unknown(asked) => unknown::run(&config()?, &asked, out),
        TidingsCommand::Health(asked) => health::run(&config()?, &asked, out),
        TidingsCommand::Clock(asked) => clock::run(&config()?, &asked, out),
        TidingsCommand::Check(check) => check::run(&check, out),
        TidingsCommand::Completions(asked) => completions::run(&asked),
        TidingsCommand::Schema => schema::run(),
        TidingsCommand::Bench(bench) => bench::run(config()?, &bench, out),
        TidingsCommand::Config => effective_config::run(&settings()?, out),
        TidingsCommand::Quarantine(what) => quarantine::run(&config()?, what, out),
        TidingsCommand::State(asked) => state::run(&config()?, asked, out),
    }
}

/// The settings of a process, with how they are read once more: by the same line, and files and variables as they are then.
fn process_settings(config: Config) -> ProcessSettings {
    let reader = || {
        let cli = TidingsCli::try_parse().map_err(|error| CommandError::from_refusal(error.to_string()))?;
        Ok(settings_reader(&cli)()?.config)
    };
    ProcessSettings { config, reader: Arc::new(reader) }
}

fn warn_of_open_secrets(merged: MergedConfig) -> Config {
    for path in &merged.open {
        terminal::print_talk(format!(
            "{}: a secret that everybody on this machine can read; chmod it to 600",
            path.display()
        ));
    }
    merged.config
}

/// Refuses to name a house to a command that asks none.
fn refuse_server_flag(cli: &TidingsCli) -> Result<(), CommandError> {
    let is_own = matches!(
        cli.command,
        TidingsCommand::Up(_)
            | TidingsCommand::Run(_)
            | TidingsCommand::Migrate(_)
            | TidingsCommand::Repartition(_)
            | TidingsCommand::SendTest(_)
            | TidingsCommand::Sink(_)
            | TidingsCommand::Bench(_)
    );
    if is_own && cli.shared.server.is_some() {
        let what = "this command asks no house: it works here, on the engines and services of the settings; leave out --server";
        return Err(CommandError::Usage(what.to_owned()));
    }
    Ok(())
}

/// Reads what a command line, the environment and the file set.
fn settings_reader(cli: &TidingsCli) -> impl Fn() -> Result<MergedConfig, CommandError> + use<> {
    let (file, flags) = (cli.shared.config.clone(), cli.flag_values());
    let is_bench = matches!(cli.command, TidingsCommand::Bench(_));
    move || {
        // What is no text is none of ours.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let merged = config::load_config(file.as_deref(), environment, flags.clone());
        Ok(merged.map_err(|refused| if is_bench { bench::add_cluster_hint(refused) } else { refused })?)
    }
}

/// Tells a failure to whoever watches.
pub fn report_failure(failure: &CommandError) {
    let said = failure.to_string();
    if !said.is_empty() {
        terminal::print_failure(&said);
    }
}
