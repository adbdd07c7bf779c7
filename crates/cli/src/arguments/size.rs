//! How large a house has to be.

use clap::Args;
use model::limits::{DAY_LIFE_MAX, DAY_LIFE_MIN};
use sizing::SizeQuestion;

pub const SIZE: &str = "\
Needs no house and no configuration. Each figure comes from measurements, which --figures lists; peaks take \
half of what is printed. Several --persons make a column each, and so may --digests-within. --values prints \
values for the Helm chart. docs/sizing.md has the arithmetic, and what was not measured.

Examples:
  tidings size --persons 1m
  tidings size --persons 100k,2m,20m --digests-within 10m,30m,60m
  tidings size --persons 5m --entries-per-day 20 --mails-per-day 0.5 --pushes-per-day 3
  tidings size --persons 2m --values > values-size.yaml
  tidings size --figures";

const USUAL: SizeQuestion = SizeQuestion::usual(0);

#[derive(Debug, Args)]
pub struct SizeArgs {
    /// How many people, as 250000, 100k or 2m; up to three make a column each
    #[arg(long, value_name = "COUNT", required_unless_present = "figures", value_delimiter = ',', value_parser = parse_count)]
    pub persons: Vec<u64>,
    /// Entries of each person a day
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL.entries_per_day, value_parser = parse_amount)]
    pub entries_per_day: f64,
    /// How many people an event concerns, on average
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL.persons_per_event, value_parser = parse_amount)]
    pub persons_per_event: f64,
    /// Mails to each person a day
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL.mails_per_day, value_parser = parse_amount)]
    pub mails_per_day: f64,
    /// Pushes to each person a day
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL.pushes_per_day, value_parser = parse_amount)]
    pub pushes_per_day: f64,
    /// What each person follows
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL.follows, value_parser = parse_amount)]
    pub follows: f64,
    /// Pages of their feed that each person looks at a day
    #[arg(long, value_name = "NUMBER", default_value_t = USUAL.pages_per_day, value_parser = parse_amount)]
    pub pages_per_day: f64,
    /// How many people have a stream of their feed open in the busiest hour, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = USUAL.streams_percent, value_parser = parse_share)]
    pub streams_share: f64,
    /// All mails of a day leave within this time, such as 30m or 2h
    #[arg(long, value_name = "TIME", default_value = "60m", value_delimiter = ',', value_parser = parse_minutes)]
    pub digests_within: Vec<u32>,
    /// How much of a day's events and pushes comes in the busiest hour, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = USUAL.peak_hour_percent, value_parser = parse_percent)]
    pub peak_hour_share: f64,
    /// Copies that Kafka and the tables keep
    #[arg(long, value_name = "COUNT", default_value_t = USUAL.replication, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub replication: u32,
    /// Days for which each day and its entries are kept (`day_life`)
    #[arg(long, value_name = "DAYS", default_value_t = USUAL.day_life, value_parser = clap::value_parser!(u16).range(i64::from(DAY_LIFE_MIN)..=i64::from(DAY_LIFE_MAX)))]
    pub day_life: u16,
    /// Print values for the Helm chart
    #[arg(long, conflicts_with_all = ["figures", "json"])]
    pub values: bool,
    /// Print the measured figures and where each comes from
    #[arg(long)]
    pub figures: bool,
}

/// More people than there are.
const PERSONS_MAX: u64 = 10_000_000_000;
/// Far more than anybody can bear.
const AMOUNT_MAX: f64 = 10_000.0;
const MINUTES_MAX: u32 = 1_440;

fn parse_count(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, times) = match lower.strip_suffix('k') {
        Some(digits) => (digits, 1_000.0),
        None => lower.strip_suffix('m').map_or((lower.as_str(), 1.0), |digits| (digits, 1_000_000.0)),
    };
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * times);
    let count = number.filter(|count| (1.0..=PERSONS_MAX as f64).contains(count));
    count.map(|count| count.round() as u64).ok_or_else(|| "a number such as 250000, 100k or 2m".to_owned())
}

fn parse_amount(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=AMOUNT_MAX).contains(number));
    number.ok_or_else(|| format!("a number from 0 to {AMOUNT_MAX}"))
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|number| (1.0..=100.0).contains(number))
        .ok_or_else(|| "a percentage from 1 to 100".to_owned())
}

fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "a percentage from 0 to 100".to_owned())
}

fn parse_minutes(text: &str) -> Result<u32, String> {
    let (digits, times) = match text.strip_suffix('h') {
        Some(digits) => (digits, 60),
        None => (text.strip_suffix('m').unwrap_or(text), 1),
    };
    let minutes = digits.parse::<u32>().ok().and_then(|number| number.checked_mul(times));
    minutes
        .filter(|minutes| (1..=MINUTES_MAX).contains(minutes))
        .ok_or_else(|| "a time from 1m to 24h".to_owned())
}

impl SizeArgs {
    /// A question for each column.
    pub fn questions(&self) -> Vec<SizeQuestion> {
        let minutes = |at: usize| self.digests_within.get(at).or(self.digests_within.last()).copied();
        let question = |(at, persons): (usize, &u64)| SizeQuestion {
            persons: *persons,
            entries_per_day: self.entries_per_day,
            persons_per_event: self.persons_per_event,
            mails_per_day: self.mails_per_day,
            pushes_per_day: self.pushes_per_day,
            follows: self.follows,
            pages_per_day: self.pages_per_day,
            streams_percent: self.streams_share,
            digest_minutes: minutes(at).unwrap_or(USUAL.digest_minutes),
            peak_hour_percent: self.peak_hour_share,
            replication: self.replication,
            day_life: self.day_life,
        };
        self.persons.iter().enumerate().map(question).collect()
    }
}
