//! The head of a scenario: its catalogue, where time begins and whose clock the text means, where networks are, and words.

use ipnetwork::IpNetwork;
use model::{
    Day, GeoPoint,
    civil_time::{Zone, ZoneRules},
};
use source_text::{SourceText, TextProblem, did_you_mean};

use crate::{
    args::LineArgs,
    calendar::{START, ScenarioCalendar},
    lines::{self, SourceLine},
    token::LineError,
    verb::{TENANT, VERBS},
    word::ScenarioWords,
};

/// What a line of the head begins with.
pub(crate) const HEAD: [&str; 5] = ["catalogue", "start", "clock", "network", "word"];

/// Finds the words of the catalogue in a folder: their file's name and text.
pub(crate) type WordFileFinder<'a> = &'a dyn Fn(&str) -> Option<(String, String)>;

#[derive(Default)]
pub(crate) struct ScenarioHead {
    pub catalogue: Option<String>,
    start: Option<Day>,
    clock: Option<Zone>,
    /// Where the addresses of networks are.
    pub networks: Vec<(IpNetwork, GeoPoint)>,
    pub words: ScenarioWords,
}

impl ScenarioHead {
    pub fn calendar(&self) -> ScenarioCalendar {
        let start = self.start.or_else(|| Day::parse(START)).unwrap_or(Day(0));
        ScenarioCalendar::new(start, self.clock.clone().unwrap_or(Zone::UTC))
    }

    /// Takes in a line of the head; what comes back are the problems of the words that it brought.
    pub fn read_line(
        &mut self,
        file: &str,
        line: &SourceLine<'_>,
        find: WordFileFinder<'_>,
    ) -> Result<Vec<TextProblem>, LineError> {
        if line.first_word() == "word" {
            return self.words.define_line(line, file).map(|()| Vec::new());
        }
        let mut args = LineArgs::new(line.tokens[1..].iter().cloned(), line.end);
        let column = args.column();
        let mut problems = Vec::new();
        let known = match line.first_word() {
            "catalogue" => {
                let folder = args.text("a folder")?;
                if let Some((file, text)) = find(&folder) {
                    problems = self.words.read_words(&SourceText { file: &file, text: without_mark(&text) });
                }
                self.catalogue.replace(folder).is_some()
            }
            "network" => {
                let (network, place) = read_network(&mut args)?;
                let is_same = |(known, _): &(IpNetwork, GeoPoint)| {
                    (known.network(), known.prefix()) == (network.network(), network.prefix())
                };
                if self.networks.iter().any(is_same) {
                    return Err(LineError::new(column, format!("the network `{network}` is given twice")));
                }
                self.networks.push((network, place));
                false
            }
            "start" => {
                let text = args.text("a date")?;
                let day = ScenarioCalendar::parse_day(&text).map_err(|what| LineError::new(column, what))?;
                self.start.replace(day).is_some()
            }
            _ => {
                let name = args.text("a time zone")?;
                let zone = ZoneRules::load_newest().get(&name);
                let zone = zone.ok_or_else(|| {
                    let wrong = LineError::new(column, format!("there is no time zone `{name}`"));
                    wrong.help(suggest_zone(&name))
                })?;
                self.clock.replace(zone).is_some()
            }
        };
        args.check_end()?;
        if known {
            return Err(LineError::new(
                line.tokens[0].column,
                format!("`{}` is given twice", line.first_word()),
            ));
        }
        Ok(problems)
    }
}

/// A text without the mark by which some editors begin a file.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The zone that was probably meant.
fn suggest_zone(name: &str) -> String {
    let names: Vec<String> =
        jiff::tz::TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect();
    let near = did_you_mean(name, names.iter().map(String::as_str));
    near.unwrap_or_else(|| "write a name such as `Europe/Berlin`".to_string())
}

/// `203.0.113.0/24 52.52,13.40`
fn read_network(args: &mut LineArgs) -> Result<(IpNetwork, GeoPoint), LineError> {
    let column = args.column();
    let text = args.text("a network")?;
    let network: IpNetwork = text.parse().map_err(|_| {
        LineError::new(column, format!("`{text}` is not a network, such as 203.0.113.0/24 or 2001:db8::/32"))
    })?;
    if !text.contains('/') {
        let help =
            format!("write `{network}` for it alone, or how many bits its network has: 203.0.113.0/24");
        return Err(LineError::new(column, format!("`{text}` is an address, not a network")).help(help));
    }
    let column = args.column();
    let text = args.text("a place")?;
    let degrees = text.split_once(',').and_then(|(lat, lon)| Some((lat.parse().ok()?, lon.parse().ok()?)));
    let place = degrees.and_then(|(lat, lon)| GeoPoint::new(lat, lon));
    let wrong = || LineError::new(column, format!("`{text}` is not a place, such as 52.52,13.40"));
    Ok((network, place.ok_or_else(wrong)?))
}

impl ScenarioWords {
    /// Reads the words of a catalogue.
    fn read_words(&mut self, source: &SourceText<'_>) -> Vec<TextProblem> {
        let (lines, mut problems) = lines::read_lines(source);
        for line in lines {
            let defined = match line.first_word() {
                "word" => self.define_line(&line, source.file),
                _ => Err(LineError::new(
                    line.tokens[0].column,
                    "only `word NAME PARAMETER… = line` is allowed here",
                )),
            };
            problems.extend(defined.err().map(|wrong| lines::line_problem(source, line.number, wrong)));
        }
        problems
    }

    fn define_line(&mut self, line: &SourceLine<'_>, file: &str) -> Result<(), LineError> {
        let taken: Vec<&str> = VERBS.into_iter().chain(HEAD).chain([TENANT]).collect();
        let after = line.text.split_once(" = ").map_or("", |(_, after)| after);
        let said = format!("`{}` ({file}:{})", after.trim(), line.number);
        self.define(line.tokens[1..].to_vec(), line.end, &taken, said)
    }
}
