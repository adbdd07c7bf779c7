//! Real engines for the tests: started once for the whole gate, before the first test that needs them, and
//! stopped after the last. Each test binary that runs alone starts its own.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use crate::shell::WorkspaceRoot;

/// What says where engines are; whoever sets all of them has some that run already.
const VARIABLES: [&str; 3] = ["TIDINGS_KAFKA", "TIDINGS_CQL", "TIDINGS_REGISTRY"];

/// Engines that run as long as this is held.
pub struct GateEngines {
    child: Option<Child>,
    variables: Vec<(String, String)>,
}

impl GateEngines {
    pub fn start(house: &WorkspaceRoot) -> Result<Self> {
        if VARIABLES.iter().all(|name| std::env::var_os(name).is_some()) {
            return Ok(Self { child: None, variables: Vec::new() });
        }
        let mut command = house.cargo(&["run", "--quiet", "--package", "engines", "--", "up", "--for-tests"]);
        let mut child = command.stdout(Stdio::piped()).spawn().context("start the engines")?;
        let output = child.stdout.take().context("a piped output")?;
        let mut engines = Self { child: Some(child), variables: Vec::new() };
        for line in BufReader::new(output).lines() {
            let line = line.context("what the engines say")?;
            println!("{line}");
            let set = line.strip_prefix("export ").and_then(|set| set.split_once('='));
            engines
                .variables
                .extend(set.map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned())));
            if engines.variables.len() == VARIABLES.len() {
                return Ok(engines);
            }
        }
        bail!("the engines ended before they were there")
    }

    /// Tells a command where they are.
    pub fn set_variables<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.unset_variables(|name| std::env::var_os(name).is_some()))
    }

    /// Who set one of the variables has an engine of that kind to be tested, and means that one.
    fn unset_variables(&self, is_set: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, &str)> {
        let all = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(move |(name, _)| !is_set(name))
    }
}

impl Drop for GateEngines {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // Asked first, since they take their folders away; `kill` is a command of every Unix.
        let asked = Command::new("kill").arg(child.id().to_string()).status();
        if !asked.is_ok_and(|status| status.success()) {
            drop(child.kill());
        }
        drop(child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_was_given_stays_the_one_that_is_tested() {
        let variables = VARIABLES.map(|name| (name.to_owned(), "started".to_owned())).into();
        let engines = GateEngines { child: None, variables };
        let check = |given: &[&str], told: &[&str]| {
            let names: Vec<_> =
                engines.unset_variables(|name| given.contains(&name)).map(|(name, _)| name).collect();
            assert_eq!(names, told, "{given:?}");
        };
        check(&[], &VARIABLES);
        check(&["TIDINGS_CQL"], &["TIDINGS_KAFKA", "TIDINGS_REGISTRY"]);
        check(&["TIDINGS_KAFKA", "TIDINGS_REGISTRY"], &["TIDINGS_CQL"]);
        check(&VARIABLES, &[]);
    }
}
