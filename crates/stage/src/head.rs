//! The head of a scenario: its catalogue, where time begins and whose clock the text means, and words.

use model::{
    Day,
    civil_time::{Zone, ZoneRules},
};
use source_text::{SourceText, TextProblem};

use crate::{
    args::LineArgs,
    calendar::{START, ScenarioCalendar},
    lines::{self, SourceLine},
    token::LineError,
    verb::{TENANT, VERBS},
    word::ScenarioWords,
};

/// What a line of the head begins with.
pub(crate) const HEAD: [&str; 4] = ["catalogue", "start", "clock", "word"];

/// Finds the words of the catalogue in a folder: their file's name and text.
pub(crate) type WordFileFinder<'a> = &'a dyn Fn(&str) -> Option<(String, String)>;

#[derive(Default)]
pub(crate) struct ScenarioHead {
    pub catalogue: Option<String>,
    start: Option<Day>,
    clock: Option<Zone>,
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
                    problems = self.words.read_words(&SourceText { file: &file, text: &text });
                }
                self.catalogue.replace(folder).is_some()
            }
            "start" => {
                let text = args.text("a date")?;
                let day = Day::parse(&text);
                let day = day.ok_or_else(|| {
                    LineError::new(column, format!("`{text}` is not a date, such as {START}"))
                })?;
                self.start.replace(day).is_some()
            }
            _ => {
                let name = args.text("a time zone")?;
                let zone = ZoneRules::load_newest().get(&name);
                let zone =
                    zone.ok_or_else(|| LineError::new(column, format!("there is no time zone `{name}`")))?;
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
