//! What each command does. They say what they find through [`crate::say`], and fail with an exit code.

use std::{io, net::SocketAddr};

use catalogue::problem::{did_you_mean, one_of};
use clap::Parser as _;
use model::fault::{self, Fault};
use rustix::{fs::Mode, process::umask};

use crate::{
    cli::{Cli, Command, Shared},
    config::{self, Config, Merged},
    failure::Failure,
    say,
};

mod archive;
mod bench;
mod check;
mod clock;
mod completions;
mod days;
mod device;
mod erase;
mod explain;
mod hooks;
mod init;
mod live;
mod mail;
mod migrate;
mod person;
mod preview;
mod push;
mod quarantine;
mod reach;
mod release;
mod repartition;
mod replay;
mod run;
mod shares;
mod show;
mod sink;
mod state;
mod suppressions;
mod tell;
mod unknown;
mod up;
mod windows;

#[cfg(test)]
mod tests;

/// Runs the program: reads the command line and the configuration, and does what is asked.
pub fn main() -> Result<(), Failure> {
    // First of all: what is made from here on is for this user alone, whatever makes it.
    umask(Mode::RWXG | Mode::RWXO);
    listener::files::raise();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => {
            // Help and version are data, everything else is talk; clap knows which is which.
            said.print()?;
            return if said.exit_code() == 0 {
                Err(Failure::Closed)
            } else {
                Err(Failure::Usage(String::new()))
            };
        }
    };
    if let Some(name) = fault::misspelt() {
        if !fault::CAN_PLANT {
            let why = format!(
                "{}={name}: this program plants no faults, it was built without `--features faults`",
                fault::VARIABLE
            );
            return Err(Failure::refused(why));
        }
        let names = Fault::ALL.map(Fault::name);
        let help = did_you_mean(&name, names).unwrap_or_else(|| format!("there is {}", one_of(names)));
        return Err(Failure::refused(format!("`{name}` of {} is no fault: {help}", fault::VARIABLE)));
    }
    let merged = merged(&cli)?;
    if matches!(cli.command, Command::Config) {
        return show::run(&merged, Out { json: cli.shared.json });
    }
    if matches!(cli.command, Command::Up(_) | Command::Run(_)) {
        for path in &merged.open {
            say::talk(format!(
                "{}: a secret that everybody on this machine can read; chmod it to 600",
                path.display()
            ));
        }
    }
    let config = merged.config;
    let Shared { json, .. } = cli.shared;
    run(cli.command, config, Out { json })
}

fn run(command: Command, config: Config, out: Out) -> Result<(), Failure> {
    match command {
        Command::Init(init) => init::run(&init, out),
        Command::Up(_) => up::run(config, out),
        Command::Run(run) => run::run(config, &run, out),
        Command::Migrate(migrate) => migrate::run(&config, &migrate, out),
        Command::Publish(publish) => tell::publish(&config, publish, out),
        Command::Follow(follow) => tell::follow(&config, &follow, "tidings.follow", out),
        Command::Unfollow(follow) => tell::follow(&config, &follow, "tidings.unfollow", out),
        Command::Mute(mute) => tell::mute(&config, &mute, "tidings.mute", out),
        Command::Unmute(mute) => tell::mute(&config, &mute, "tidings.unmute", out),
        Command::Person(asked) if asked.fields.is_empty() => person::run(&config, &asked.person, out),
        Command::Person(person) => tell::person(&config, &person, out),
        Command::Device(device) => device::run(&config, &device, out),
        Command::Feedback(feedback) => tell::feedback(&config, &feedback, out),
        Command::Days(days) => days::run(&config, &days, out),
        Command::Windows(asked) => windows::run(&config, &asked, out),
        Command::Shares(asked) => shares::run(&config, &asked, out),
        Command::Explain(explain) => explain::run(&config, &explain, out),
        Command::Preview(preview) => preview::run(&config, &preview, out),
        Command::Release(release) => release::run(&config, &release, out),
        Command::Replay(replay) => replay::run(&config, &replay, out),
        Command::Repartition(asked) => repartition::run(&config, &asked, out),
        Command::Archive(archive) => archive::run(&config, &archive, out),
        Command::Dkim(asked) => mail::dkim(&config, &asked, out),
        Command::Hooks(asked) => hooks::run(&config, &asked, out),
        Command::Push(asked) => push::run(&asked, out),
        Command::SendTest(asked) => mail::send_test(&config, &asked, out),
        Command::Sink(asked) => sink::run(&config, &asked, out),
        Command::Suppressions(asked) => suppressions::run(&config, &asked, out),
        Command::Erase(asked) => erase::run(&config, &asked, out),
        Command::Unknown(asked) => unknown::run(&config, &asked, out),
        Command::Clock(asked) => clock::run(&config, &asked, out),
        Command::Check(check) => check::run(&check, out),
        Command::Completions(asked) => completions::run(&asked),
        Command::Bench(bench) => bench::run(config, &bench, out),
        Command::Config => Ok(()),
        Command::Quarantine(what) => quarantine::run(&config, what, out),
        Command::State(asked) => state::run(&config, asked, out),
    }
}

/// How data is printed.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    pub json: bool,
}

fn merged(cli: &Cli) -> Result<Merged, Failure> {
    let environment = std::env::vars_os();
    let environment = environment.filter_map(|(name, value)| {
        // What is no text is none of ours.
        Some((name.into_string().ok()?, value.into_string().ok()?))
    });
    let merged = config::load(cli.shared.config.as_deref(), environment, cli.given());
    Ok(merged.map_err(|refused| match cli.command {
        Command::Bench(_) => bench::refused(refused),
        _ => refused,
    })?)
}

/// Starts the log, in the format that everything said there has from then on.
fn start_log(config: &Config) -> Result<(), Failure> {
    runtime::log::start(&config.log.filter, config.log.format).map_err(Failure::Refused)?;
    if config.log.format == runtime::log::Format::Json {
        say::talk_to_machines();
    }
    Ok(())
}

/// Why nobody can listen at an address, and by which flag it can be another one.
fn taken(error: io::Error, at: SocketAddr, flag: &str) -> Failure {
    if error.kind() == io::ErrorKind::AddrInUse {
        let any = SocketAddr::new(at.ip(), 0);
        return Failure::refused(format!("{at} is taken (by another tidings?); try {flag} {any}"));
    }
    let what = format!("listen on {at}; {flag} takes another address");
    Failure::Failed(anyhow::Error::new(error).context(what))
}

/// Tells a failure to whoever watches.
pub fn tell(failure: &Failure) {
    let said = failure.to_string();
    if !said.is_empty() {
        say::fail(&said);
    }
}
