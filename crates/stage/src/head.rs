//! The head of a scenario: its catalogue, where time begins and whose clock the text means, and words.

use catalogue::problem::{Problem, Source};
use model::{
    Day,
    civil::{Zone, Zones},
};

use crate::{
    args::Args,
    calendar::{Calendar, START},
    lines::{self, Line},
    parse::TENANT,
    token::Wrong,
    verb::VERBS,
    word::Words,
};

/// What a line of the head begins with.
pub(crate) const HEAD: [&str; 4] = ["catalogue", "start", "clock", "word"];

/// Finds the words of the catalogue in a folder: their file's name and text.
pub(crate) type FindWords<'a> = &'a dyn Fn(&str) -> Option<(String, String)>;

#[derive(Default)]
pub(crate) struct Head {
    pub catalogue: Option<String>,
    start: Option<Day>,
    clock: Option<Zone>,
    pub words: Words,
}

impl Head {
    pub fn calendar(&self) -> Calendar {
        let start = self.start.or_else(|| Day::parse(START)).unwrap_or(Day(0));
        Calendar::new(start, self.clock.clone().unwrap_or(Zone::UTC))
    }

    /// Takes in a line of the head; what comes back are the problems of the words that it brought.
    pub fn read(&mut self, file: &str, line: &Line<'_>, find: FindWords<'_>) -> Result<Vec<Problem>, Wrong> {
        if line.first() == "word" {
            return self.words.define_line(line, file).map(|()| Vec::new());
        }
        let mut args = Args::new(line.tokens[1..].iter().cloned(), line.end);
        let column = args.column();
        let mut problems = Vec::new();
        let known = match line.first() {
            "catalogue" => {
                let folder = args.text("a folder")?;
                if let Some((file, text)) = find(&folder) {
                    problems = self.words.read(&Source { file: &file, text: &text });
                }
                self.catalogue.replace(folder).is_some()
            }
            "start" => {
                let text = args.text("a date")?;
                let day = Day::parse(&text);
                let day =
                    day.ok_or_else(|| Wrong::new(column, format!("`{text}` is no date, such as {START}")))?;
                self.start.replace(day).is_some()
            }
            _ => {
                let name = args.text("a time zone")?;
                let zone = Zones::newest().get(&name);
                let zone =
                    zone.ok_or_else(|| Wrong::new(column, format!("there is no time zone `{name}`")))?;
                self.clock.replace(zone).is_some()
            }
        };
        args.end()?;
        if known {
            return Err(Wrong::new(line.tokens[0].column, format!("`{}` is said twice", line.first())));
        }
        Ok(problems)
    }
}

impl Words {
    /// Reads the words of a catalogue.
    fn read(&mut self, source: &Source<'_>) -> Vec<Problem> {
        let (lines, mut problems) = lines::read(source);
        for line in lines {
            let defined = match line.first() {
                "word" => self.define_line(&line, source.file),
                _ => Err(Wrong::new(
                    line.tokens[0].column,
                    "only `word NAME PARAMETER… = line` may stand here",
                )),
            };
            problems.extend(defined.err().map(|wrong| lines::problem(source, line.number, wrong)));
        }
        problems
    }

    fn define_line(&mut self, line: &Line<'_>, file: &str) -> Result<(), Wrong> {
        let taken: Vec<&str> = VERBS.into_iter().chain(HEAD).chain([TENANT]).collect();
        let after = line.text.split_once(" = ").map_or("", |(_, after)| after);
        let said = format!("`{}` ({file}:{})", after.trim(), line.number);
        self.define(line.tokens[1..].to_vec(), line.end, &taken, said)
    }
}
