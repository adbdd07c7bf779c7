//! What a run came to: the trace of all that happened, and what failed first.

use std::fmt;

/// A run of one scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioReport {
    pub file: String,
    /// The behaviour that the scenario proves.
    pub proves: String,
    /// One line for each thing that happened; the same in every run.
    pub trace: Vec<String>,
    /// What was accepted and is probably not what was meant.
    pub notes: Vec<ScenarioNote>,
    pub failure: Option<ScenarioFailure>,
}

/// What the house said of a line that it accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioNote {
    /// The line of the file, counting from 1.
    pub line: usize,
    pub what: String,
}

/// The first thing that was not as it should be. What follows it mostly follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioFailure {
    /// The line of the file, counting from 1.
    pub line: usize,
    /// What is written there.
    pub text: String,
    pub what: String,
}

impl ScenarioReport {
    pub fn has_passed(&self) -> bool {
        self.failure.is_none()
    }
}

/// Short if it passed; else the failure and the trace so far.
impl fmt::Display for ScenarioReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ScenarioFailure { line, text, what }) = &self.failure else {
            return write!(f, "{}: {}", self.file, self.proves);
        };
        writeln!(f, "{}:{line}: {text}", self.file)?;
        writeln!(f, "{what}")?;
        writeln!(f, "it should prove: {}", self.proves)?;
        write!(f, "what happened so far:")?;
        self.trace.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
