//! Counts of what passed and failed, and how the summary lines of a test run become counts.

use std::{fmt, ops::AddAssign};

/// How much passed and how much failed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct GateTally {
    pub passed: u64,
    pub failed: u64,
}

impl GateTally {
    /// One thing that passed or failed.
    pub fn from_passed(passed: bool) -> Self {
        Self { passed: u64::from(passed), failed: u64::from(!passed) }
    }

    pub fn is_good(self) -> bool {
        self.failed == 0
    }

    /// Prints the count as the last line, and returns whether all is good.
    pub fn print_tally(self) -> bool {
        println!("{self}");
        self.is_good()
    }
}

impl AddAssign for GateTally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for GateTally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// What the test binaries of one run said of themselves.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct TestRun {
    /// Tests announced by `running N tests`.
    pub announced: u64,
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
    /// What failed tests printed, each up to some lines.
    pub failures: Vec<String>,
    /// How many lines of the failed test that is being told of are still kept; nothing outside of these.
    kept: Option<usize>,
}

/// Lines that are kept of what a failed test printed.
const FAILURE_LINES_MAX: usize = 40;

impl TestRun {
    /// Takes in one line of output.
    pub fn hear(&mut self, line: &str) {
        self.keep_failure(line);
        if let Some(count) = line.strip_prefix("running ") {
            self.announced += number_before(count, " test");
        } else if let Some(summary) = line.strip_prefix("test result: ") {
            self.passed += number_before(summary, " passed;");
            self.failed += number_before(summary, " failed;");
            self.ignored += number_before(summary, " ignored;");
        }
    }

    /// Failed tests are told of between two lines `failures:`, each under a line with its name.
    fn keep_failure(&mut self, line: &str) {
        self.kept = match self.kept {
            None => (line == "failures:").then_some(0),
            Some(_) if line == "failures:" => None,
            Some(_) if line.starts_with("---- ") => Some(FAILURE_LINES_MAX),
            kept => kept,
        };
        if let Some(left @ 1..) = self.kept {
            self.failures.push(line.to_owned());
            self.kept = Some(left - 1);
        }
    }

    /// The count of the run, given whether its command succeeded. An ignored test is a failure, since nothing
    /// may be skipped in silence; so is a command that fails, dies or runs no test without a failed test to show.
    pub fn tally(&self, succeeded: bool) -> GateTally {
        let failed = self.failed + self.ignored;
        let unseen = failed == 0 && (!succeeded || self.announced == 0 || self.passed < self.announced);
        GateTally { passed: self.passed, failed: failed + u64::from(unseen) }
    }
}

/// The number that stands right before a marker, 0 if there is none.
fn number_before(text: &str, marker: &str) -> u64 {
    let Some((before, _)) = text.split_once(marker) else { return 0 };
    let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    before[start..].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_tally(output: &str, succeeded: bool, expect: &str) {
        let mut run = TestRun::default();
        output.lines().for_each(|line| run.hear(line));
        assert_eq!(run.tally(succeeded).to_string(), expect, "{output}");
    }

    #[test]
    fn summaries_are_added_up() {
        let two = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                   running 1 test\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s";
        check_tally(two, false, "2 passed, 1 failed");
        check_tally(
            "running 12 tests\ntest result: ok. 12 passed; 0 failed; 0 ignored; 0 measured",
            true,
            "12 passed, 0 failed",
        );
        check_tally(
            "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured",
            true,
            "0 passed, 1 failed",
        );
    }

    #[test]
    fn failures_are_kept_in_part() {
        let long = "more\n".repeat(FAILURE_LINES_MAX);
        let output = format!(
            "running 3 tests\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\n{long}---- b stdout ----\nshort\n\n\
             failures:\n    a\n    b\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured"
        );
        let mut run = TestRun::default();
        output.lines().for_each(|line| run.hear(line));
        let more = vec!["more"; FAILURE_LINES_MAX - 1];
        let expect = [&["---- a stdout ----"], &more[..], &["---- b stdout ----", "short", ""]].concat();
        assert_eq!(run.failures, expect);
        assert_eq!(run.tally(false).to_string(), "1 passed, 2 failed");
    }

    #[test]
    fn nothing_is_skipped_in_silence() {
        check_tally(
            "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured",
            true,
            "2 passed, 1 failed",
        );
        check_tally("", true, "0 passed, 1 failed");
        check_tally("error: could not compile", false, "0 passed, 1 failed");
        check_tally("running 3 tests\ntest a ... ok", false, "0 passed, 1 failed");
        check_tally(
            "running 3 tests\ntest result: ok. 3 passed; 0 failed; 0 ignored",
            false,
            "3 passed, 1 failed",
        );
    }
}
