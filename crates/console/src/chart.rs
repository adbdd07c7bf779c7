//! Pictures of the last hours, as points that a template draws.

use std::time::Duration;

use house::history::{EVERY, MetricSample, SAMPLES_MAX};
use serde::Serialize;
use views::display;

/// The picture's own measure; it is stretched to where it stands.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 60.0;
/// Instants that are drawn: more cannot be told apart.
const POINTS_MAX: usize = 180;

/// A figure over the last hours.
#[derive(Debug, Serialize, PartialEq)]
pub struct HistoryChart {
    pub name: &'static str,
    /// The values in words, also for readers who cannot see the picture.
    pub now: String,
    pub most: String,
    /// For an SVG of 600 by 60.
    pub line: String,
    pub area: String,
}

/// How a figure is read.
#[derive(Clone, Copy)]
enum FigureMeasure {
    /// It only grows; what is shown is how fast.
    PerMinute(fn(&MetricSample) -> f64),
    /// As it is at each instant.
    Level(fn(&MetricSample) -> f64),
}

const FIGURES: [(&str, &str, FigureMeasure); 4] = [
    ("Events", "a minute", FigureMeasure::PerMinute(|sample| sample.events)),
    ("Lag", "waiting records", FigureMeasure::Level(|sample| sample.lag)),
    ("Sent", "messages a minute", FigureMeasure::PerMinute(|sample| sample.told)),
    ("Held", "open windows", FigureMeasure::Level(|sample| sample.held)),
];

/// The pictures of a process.
pub fn charts(samples: &[MetricSample]) -> Vec<HistoryChart> {
    let Some(last) = samples.last() else { return Vec::new() };
    let whole = EVERY.saturating_mul(u32::try_from(SAMPLES_MAX).unwrap_or(u32::MAX));
    let x =
        |at: Duration| WIDTH * (1.0 - (last.elapsed.saturating_sub(at)).as_secs_f64() / whole.as_secs_f64());
    let draw = |(name, unit, sort): &(&'static str, &str, FigureMeasure)| {
        let values = thin_points(&values(samples, *sort));
        let most = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        let now = values.last().map_or(0.0, |(_, value)| *value);
        let y =
            |value: f64| if most > 0.0 { HEIGHT - 2.0 - (HEIGHT - 4.0) * value / most } else { HEIGHT - 2.0 };
        let line: Vec<String> =
            values.iter().map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value))).collect();
        let line = line.join(" ");
        let begin = values.first().map_or(WIDTH, |(at, _)| x(*at));
        let area = format!("{begin:.1},{HEIGHT} {line} {WIDTH},{HEIGHT}");
        HistoryChart {
            name,
            now: format!("{} {unit}", whole_number(now)),
            most: whole_number(most),
            line,
            area,
        }
    };
    FIGURES.iter().map(draw).collect()
}

fn values(samples: &[MetricSample], sort: FigureMeasure) -> Vec<(Duration, f64)> {
    match sort {
        FigureMeasure::Level(of) => samples.iter().map(|sample| (sample.elapsed, of(sample))).collect(),
        FigureMeasure::PerMinute(of) => samples
            .windows(2)
            .map(|pair| {
                let minutes = (pair[1].elapsed.saturating_sub(pair[0].elapsed)).as_secs_f64() / 60.0;
                // Just after a look the last step is too short to be a rate.
                let minutes = minutes.max(EVERY.as_secs_f64() / 60.0);
                (pair[1].elapsed, (of(&pair[1]) - of(&pair[0])).max(0.0) / minutes)
            })
            .collect(),
    }
}

/// As few points as can be told apart; each is the greatest of those that it stands for, so that no peak is lost.
fn thin_points(values: &[(Duration, f64)]) -> Vec<(Duration, f64)> {
    let step = values.len().div_ceil(POINTS_MAX).max(1);
    let greatest = |some: &[(Duration, f64)]| {
        let peak = some.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        some.last().map(|(at, _)| (*at, peak))
    };
    values.chunks(step).filter_map(greatest).collect()
}

/// Such as `1,200`.
fn whole_number(value: f64) -> String {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a figure of the page, never below 0"
    )]
    display::format_number(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(secs: u64, events: f64, held: f64) -> MetricSample {
        MetricSample { elapsed: Duration::from_secs(secs), events, held, ..MetricSample::default() }
    }

    #[test]
    fn rates_and_levels_are_drawn() {
        let charts = charts(&[sample(0, 0.0, 1.0), sample(20, 100.0, 3.0), sample(40, 100.0, 2.0)]);
        let shown: Vec<_> = charts.iter().map(|chart| (chart.name, &*chart.now, &*chart.most)).collect();
        let expected = [
            ("Events", "0 a minute", "300"),
            ("Lag", "0 waiting records", "0"),
            ("Sent", "0 messages a minute", "0"),
            ("Held", "2 open windows", "3"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(charts[3].line.split(' ').count(), 3);
        assert!(charts[3].line.ends_with("600.0,20.7"), "{}", charts[3].line);
    }

    #[test]
    fn a_peak_outlives_the_thinning() {
        let values: Vec<_> =
            (0..1_000).map(|at| (Duration::from_secs(at), if at == 500 { 9.0 } else { 1.0 })).collect();
        let thinned = thin_points(&values);
        assert!(thinned.len() <= POINTS_MAX && thinned.iter().any(|(_, value)| *value > 8.0));
    }

    #[test]
    fn nothing_seen_is_nothing_drawn() {
        assert_eq!(charts(&[]), []);
        assert_eq!(charts(&[sample(0, 5.0, 1.0)])[0].line, "");
    }
}
