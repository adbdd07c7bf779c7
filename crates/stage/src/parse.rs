//! From text to [`Scenario`]: the head, then line by line. A line that is wrong is noted and reading goes
//! on, so that one look at the messages is enough.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use model::{Tenant, UtcMillis};
use source_text::{SourceText, TextProblems, did_you_mean, list_choices};

use crate::{
    args::LineArgs,
    calendar::ScenarioCalendar,
    consistency,
    head::{HEAD, ScenarioHead, WordFileFinder, without_mark},
    lines,
    scenario::{Scenario, ScenarioLine, ScenarioStep},
    token::{LineError, LineToken},
    verb::{self, LinePlace, TENANT, VERBS},
};

/// The file beside a catalogue that defines its words.
pub const WORDS: &str = "words.txt";

/// The tenant of a scenario that names none.
pub const MAIN: &str = "main";

/// Reads a scenario that brings all its words.
pub fn parse(file: &str, text: &str) -> Result<Scenario, TextProblems> {
    parse_with(file, text, &|_| None)
}

/// Reads a scenario; `find` finds the words of the catalogue in a folder: their file's name and text.
pub fn parse_with(file: &str, text: &str, find: WordFileFinder<'_>) -> Result<Scenario, TextProblems> {
    let mut parser = ScenarioParser {
        source: SourceText { file, text: without_mark(text) },
        problems: TextProblems::default(),
        head: ScenarioHead::default(),
        lines: Vec::new(),
        now: (UtcMillis(0), UtcMillis(0)),
        tenant: None,
    };
    let proves = parser.first_line();
    let (lines, problems) = lines::read_lines(&parser.source);
    parser.problems.extend(problems);
    parser.read_head(&lines, find);
    let calendar = parser.head.calendar();
    parser.now = (calendar.start(), calendar.start());
    parser.read_body(&lines, &calendar);
    let catalogue = parser.head.catalogue.take().unwrap_or_default();
    let networks = std::mem::take(&mut parser.head.networks);
    parser.problems.into_result()?;
    Ok(Scenario { file: file.to_owned(), proves, catalogue, calendar, networks, lines: parser.lines })
}

/// Reads a scenario from a file, with the words of its catalogue. The outer error is that the file cannot
/// be read.
pub fn load_scenario(path: &Path) -> anyhow::Result<Result<Scenario, TextProblems>> {
    let file = path.display().to_string();
    let text = read_file(path).with_context(|| format!("could not read {file}"))?;
    Ok(parse_with(&file, &text, &|catalogue| {
        let words = find_catalogue(path, catalogue)?.join(WORDS);
        let text = read_file(&words).ok()?;
        Some((words.display().to_string(), text))
    }))
}

/// Reads a file; a pipe that nobody writes to would never end.
fn read_file(path: &Path) -> std::io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    std::fs::read_to_string(path)
}

/// The folder of a scenario's catalogue: looked for beside the file and in each folder above it, so that a
/// file says the same wherever the project lies.
pub fn find_catalogue(scenario: &Path, catalogue: &str) -> Option<PathBuf> {
    let full = std::path::absolute(scenario).ok()?;
    let mut found = full.ancestors().skip(1).map(|folder| folder.join(catalogue));
    found.find(|folder| folder.join("catalogue.yaml").is_file())
}

struct ScenarioParser<'a> {
    source: SourceText<'a>,
    problems: TextProblems,
    head: ScenarioHead,
    lines: Vec<ScenarioLine>,
    /// The stretch of time of the last line.
    now: (UtcMillis, UtcMillis),
    /// Whose the lines are from here on.
    tenant: Option<Tenant>,
}

impl ScenarioParser<'_> {
    fn note_problem(&mut self, number: usize, wrong: LineError) {
        self.problems.extend([lines::line_problem(&self.source, number, wrong)]);
    }

    fn first_line(&mut self) -> String {
        let first = self.source.text.lines().next().unwrap_or_default();
        let proves = first.strip_prefix("# ").map(str::trim).unwrap_or_default().to_owned();
        if proves.is_empty() {
            self.note_problem(
                1,
                LineError::new(1, "a scenario must begin with `# ` and the behaviour that it proves"),
            );
        }
        proves
    }

    fn read_head(&mut self, lines: &[lines::SourceLine<'_>], find: WordFileFinder<'_>) {
        let mut body = false;
        for line in lines {
            let name = line.first_word();
            if !HEAD.contains(&name) {
                body = true;
            } else if body {
                let what = format!("`{name}` must stand in the head");
                self.note_problem(line.number, LineError::new(line.tokens[0].column, what));
            } else {
                match self.head.read_line(self.source.file, line, find) {
                    Ok(problems) => self.problems.extend(problems),
                    Err(wrong) => self.note_problem(line.number, wrong),
                }
            }
        }
        if self.head.catalogue.is_none() && self.problems.is_empty() {
            let wrong = LineError::new(1, "the catalogue is missing");
            self.note_problem(1, wrong.help("write a line `catalogue FOLDER` in the head".to_owned()));
        }
    }

    fn read_body(&mut self, lines: &[lines::SourceLine<'_>], calendar: &ScenarioCalendar) {
        for line in lines.iter().filter(|line| !HEAD.contains(&line.first_word())) {
            match self.body_line(line, calendar) {
                Ok(line) => self.lines.extend(line),
                Err(wrong) => self.note_problem(line.number, wrong),
            }
        }
        // What a line that is wrong would have meant for the others is not known.
        if self.problems.is_empty() {
            for (number, wrong) in consistency::check_lines(&self.lines) {
                self.note_problem(number, wrong);
            }
        }
    }

    /// A line that happens; `tenant` only says whose the next ones are.
    fn body_line(
        &mut self,
        line: &lines::SourceLine<'_>,
        calendar: &ScenarioCalendar,
    ) -> Result<Option<ScenarioLine>, LineError> {
        let tokens = self.take_time(line, calendar)?;
        let (from, until) = self.now;
        let start = tokens.first().map_or(line.end, |token| token.column);
        let expanded = self.head.words.expand(tokens.to_vec())?;
        let mut args = LineArgs::new(expanded.tokens, line.end);
        let verb = match args.peek() {
            Some(verb) if VERBS.contains(&verb) => args.text("a verb")?,
            Some(TENANT) => {
                args.text(TENANT)?;
                self.tenant = Some(args.tenant()?);
                return args.check_end().map(|()| None);
            }
            _ => return Err(self.no_verb(args)),
        };
        let tenant = match &self.tenant {
            Some(tenant) => tenant.clone(),
            None => Tenant::new(MAIN).map_err(|bad| LineError::new(start, bad.to_string()))?,
        };
        let place = LinePlace { number: line.number, at: until, calendar };
        let what = verb::read_verb(&verb, &mut args, &place).map_err(|mut wrong| {
            let stands_for = expanded.stands_for.map(|said| format!("it stands for {said}"));
            wrong.help = wrong.help.or(stands_for);
            wrong
        })?;
        if from != until && matches!(what, ScenarioStep::Do(_)) {
            return Err(LineError::new(start, "only `expect` takes a span of time"));
        }
        Ok(Some(ScenarioLine {
            number: line.number,
            column: start,
            text: line.text_from(start),
            from,
            until,
            tenant,
            what,
        }))
    }

    fn no_verb(&self, mut args: LineArgs) -> LineError {
        let column = args.column();
        match args.text("a verb") {
            Ok(word) => {
                let names: Vec<&str> = VERBS.into_iter().chain(self.head.words.names()).collect();
                let near = did_you_mean(&word, names.iter().copied().chain(HEAD).chain([TENANT]));
                let help = near.unwrap_or_else(|| format!("use {}", list_choices(names)));
                LineError::new(column, format!("there is no verb `{word}`")).help(help)
            }
            Err(wrong) => wrong,
        }
    }

    /// Takes the time before a verb, if one is written; what is left begins with the verb. The time is
    /// remembered even if the rest of the line is wrong, so that the next lines are not wrong as well.
    fn take_time<'t>(
        &mut self,
        line: &'t lines::SourceLine<'_>,
        calendar: &ScenarioCalendar,
    ) -> Result<&'t [LineToken], LineError> {
        if !ScenarioCalendar::is_date(line.first_word()) {
            return Ok(&line.tokens);
        }
        let mut args = LineArgs::new(line.tokens.iter().cloned(), line.end);
        let column = args.column();
        let date = args.text("a date")?;
        let date = calendar.parse_date(&date).map_err(|what| LineError::new(column, what))?;
        let time_column = args.column();
        let time = args.text("a time of day")?;
        let instant =
            |time: &str| calendar.parse_time(date, time).map_err(|what| LineError::new(time_column, what));
        let (from, until) = match time.split_once("..") {
            Some((from, until)) => (instant(from)?, instant(until)?),
            None => (instant(&time)?, instant(&time)?),
        };
        if until < from || until < self.now.1 {
            let help = format!("the line before is at {}", calendar.show(self.now.1));
            return Err(LineError::new(column, "the time goes back").help(help));
        }
        self.now = (from, until);
        Ok(&line.tokens[2..])
    }
}
