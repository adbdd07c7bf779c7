//! What a bench comes out with, for people and for machines.

use std::{fmt, time::Duration};

use serde::Serialize;

/// One bench's result.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    pub bench: String,
    /// The engine and what it acknowledged.
    pub engine: String,
    pub machine: String,
    pub figures: Vec<BenchFigure>,
    pub oracle: BenchOracle,
}

/// One figure beside what it is compared with.
#[derive(Clone, Debug, Serialize)]
pub struct BenchFigure {
    pub name: String,
    /// The median of all rounds.
    pub value: f64,
    pub unit: String,
    pub least: f64,
    pub most: f64,
    /// What it is compared with, in the same unit: the raw loop's median, or a bound.
    pub against: f64,
    /// `value / against`.
    pub ratio: f64,
    /// What it should come to, where that was said before.
    pub bar: Option<FigureBar>,
}

/// A bar that was set before anybody measured.
#[derive(Clone, Debug, Serialize)]
pub struct FigureBar {
    pub wanted: String,
    pub met: bool,
}

/// What was checked, and whether it held.
#[derive(Clone, Debug, Serialize)]
pub struct BenchOracle {
    pub checked: String,
    pub held: bool,
}

impl BenchReport {
    /// What this machine came out with; what was checked there, and whether it held.
    pub fn new(
        bench: &str,
        engine: impl Into<String>,
        figures: Vec<BenchFigure>,
        (checked, held): (impl Into<String>, bool),
    ) -> Self {
        let oracle = BenchOracle { checked: checked.into(), held };
        Self { bench: bench.to_owned(), engine: engine.into(), machine: describe_machine(), figures, oracle }
    }
}

impl BenchFigure {
    /// Things done per second, from the rounds of both sides.
    #[allow(clippy::cast_precision_loss, reason = "a rate for people to read")]
    pub fn rate(name: &str, things: usize, rounds: &[Duration], raw: &[Duration]) -> Self {
        let per_second = |round: &Duration| things as f64 / round.as_secs_f64().max(1e-9);
        Self::compare_rounds(name, "per second", per_second, (rounds, raw))
    }

    /// The medians of both sides.
    fn compare_rounds(
        name: &str,
        unit: &str,
        value: impl Fn(&Duration) -> f64,
        (rounds, raw): (&[Duration], &[Duration]),
    ) -> Self {
        let sort = |rounds: &[Duration]| sort_values(rounds.iter().map(&value).collect());
        let (ours, against) = (sort(rounds), median_of_sorted(&sort(raw)));
        let (least, most) = (ours.first().copied().unwrap_or(0.0), ours.last().copied().unwrap_or(0.0));
        Self { least, most, ..Self::compared_with(name, median_of_sorted(&ours), unit, against) }
    }

    /// One value beside another.
    pub fn compared_with(name: &str, value: f64, unit: &str, against: f64) -> Self {
        let (least, most, ratio) = (value, value, value / against);
        Self { name: name.into(), value, unit: unit.into(), least, most, against, ratio, bar: None }
    }

    /// A value that has a bound, which stands in the place of the raw loop.
    pub fn bound(name: &str, value: f64, unit: &str, most: f64) -> Self {
        Self::compared_with(name, value, unit, most).at_most(most)
    }

    /// Seconds for the whole.
    pub fn seconds(name: &str, rounds: &[Duration], raw: &[Duration]) -> Self {
        Self::compare_rounds(name, "seconds", Duration::as_secs_f64, (rounds, raw))
    }
}

impl BenchFigure {
    /// The value should be at most so much.
    #[must_use]
    pub fn at_most(self, most: f64) -> Self {
        let bar = FigureBar { wanted: format!("at most {most} {}", self.unit), met: self.value <= most };
        Self { bar: Some(bar), ..self }
    }

    /// The ratio should be at least so much.
    #[must_use]
    pub fn ratio_at_least(self, least: f64) -> Self {
        let bar = FigureBar { wanted: format!("a ratio of at least {least}"), met: self.ratio >= least };
        Self { bar: Some(bar), ..self }
    }
}

fn sort_values(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

pub fn median_of(values: Vec<f64>) -> f64 {
    median_of_sorted(&sort_values(values))
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// The value that so much of all is not above, in milliseconds.
pub fn quantile_millis(sorted: &[Duration], part: f64) -> f64 {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    let place = (sorted.len() as f64 * part) as usize;
    let found = sorted.get(place.min(sorted.len().saturating_sub(1)));
    found.map_or(0.0, |late| late.as_secs_f64() * 1e3)
}

/// What a reader of the figures needs to know of the machine.
fn describe_machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let build = if cfg!(debug_assertions) { "debug build" } else { "release build" };
    format!("{cores} cores, {}-{}, {build}", std::env::consts::OS, std::env::consts::ARCH)
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {} ({})", self.bench, self.engine, self.machine)?;
        for BenchFigure { name, value, unit, least, most, against, ratio, bar } in &self.figures {
            write!(
                f,
                "  {name}: {value:.4} {unit} (from {least:.4} to {most:.4}); against {against:.4}; ratio {ratio:.2}"
            )?;
            if let Some(FigureBar { wanted, met }) = bar {
                write!(f, "; wanted {wanted}: {}", if *met { "met" } else { "MISSED" })?;
            }
            writeln!(f)?;
        }
        write!(f, "  checked: {}: {}", self.oracle.checked, if self.oracle.held { "held" } else { "BROKEN" })
    }
}
