//! `cargo xtask`: the gate that every change passes, and the parts of it one can run alone.
//!
//! `tree` reads the workspace into memory, `tidy` are pure checks over it, `ci` runs the stages of the gate
//! and counts, `engines` are what the tests need of the world, `faults` shows that each law's test fails when its law is broken.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks on its terminal")]
#![allow(clippy::disallowed_methods, reason = "it measures how long a stage takes and waits for processes")]

mod changes;
mod ci;
mod engines;
mod faults;
mod image;
mod lanes;
mod lex;
mod manifest;
mod markdown;
mod operations;
mod shell;
mod suites;
mod tally;
mod tidy;
mod tree;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand, builder::PossibleValuesParser};

use crate::{changes::ChangeReach, faults::PlainRuns, shell::WorkspaceRoot};

/// The project's own tool.
///
/// `cargo xtask ci` is the whole gate; `make test` and the build server call nothing else.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct XtaskCli {
    #[command(subcommand)]
    verb: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Runs the gate: format, tidy, lints, build, tests, documentation, planted faults
    ///
    /// All stages run, also after a failure, so that everything is seen at once. The last line is
    /// `N passed, N failed`: tests are counted one by one, and so are tidy's checks and the planted faults;
    /// each other stage counts as one, an ignored test as a failure.
    Ci {
        /// Only these stages, in the gate's order
        #[arg(value_enum, value_name = "STAGE")]
        stages: Vec<ci::GateStage>,
        /// Only the tests that a change can reach: all that differs from BASE, committed or not
        #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true, default_missing_value = "HEAD")]
        changed: Option<String>,
    },
    /// Checks what the compiler and the lints cannot: layers, lengths, licences, names, links
    Tidy {
        /// Only these checks
        #[arg(value_name = "CHECK", value_parser = PossibleValuesParser::new(tidy::names()), hide_possible_values = true)]
        checks: Vec<String>,
        /// Lists the checks and why each is there
        #[arg(long)]
        list: bool,
    },
    /// Makes a container image, without a container engine
    ///
    /// An OCI layout, which `crane push DIR …` or `skopeo copy oci:DIR docker://…` brings to a registry. It holds the program,
    /// linked statically, certificate authorities and time zones. The same commit gives the same digest. DIR/bill is a layout
    /// with the bill of materials.
    Image {
        /// The folder to make; what an earlier run left there is replaced
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// A static program that is there already, instead of building it
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
        /// A new folder in which the files of the image are laid out, too
        #[arg(long, value_name = "DIR")]
        files: Option<PathBuf>,
    },
    /// Plants each fault of tests/laws/faults.txt and demands that its test fails
    ///
    /// Each line there names a fault and a filter for the tests that must notice it. The tests of the filter
    /// must pass without the fault and fail with it; what they print is kept under target/faults.
    Faults {
        /// Only these faults
        #[arg(value_name = "FAULT")]
        faults: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run_command(XtaskCli::parse().verb) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all went well.
fn run_command(verb: XtaskCommand) -> Result<bool> {
    let house = WorkspaceRoot::find()?;
    match verb {
        XtaskCommand::Ci { stages, changed } => {
            let reach = match changed {
                Some(base) => ChangeReach::since(&house, &base)?,
                None => ChangeReach::Everything,
            };
            Ok(ci::run_stages(&house, &stages, &reach))
        }
        XtaskCommand::Tidy { list: true, .. } => {
            tidy::print_list();
            Ok(true)
        }
        XtaskCommand::Tidy { checks, .. } => Ok(tidy::run_checks(&house, &checks)?.print_tally()),
        XtaskCommand::Image { out, program, files } => {
            let out = out.unwrap_or_else(|| house.target_folder().join("image"));
            image::make_image(&house, &image::ImageRequest { out, program, files })?;
            Ok(true)
        }
        XtaskCommand::Faults { faults } => {
            let suites = suites::build_suites(&house)?;
            Ok(faults::run_faults(&house, &suites, PlainRuns::Unknown, &faults)?.print_tally())
        }
    }
}
