//! `tidings config`: the effective configuration.

use model::civil_time::ZoneRules;
use settings::config::{MergedConfig, listing};
use shell::{failure::CommandError, terminal};

use super::OutputStyle;

pub fn run(merged: &MergedConfig, out: OutputStyle) -> Result<(), CommandError> {
    if out.json {
        return Ok(terminal::print_json(&listing::config_as_json(merged))?);
    }
    let paint = terminal::TextPainter::for_data();
    let lines = listing::config_lines(merged);
    let rows: Vec<[String; 3]> = lines
        .iter()
        .map(|line| [line.name.to_owned(), terminal::clean_text(&line.value), line.source.clone()])
        .collect();
    for (row, line) in terminal::format_table(&rows).into_iter().zip(&lines) {
        terminal::print_data(row)?;
        terminal::print_data(paint.with(terminal::FAINT, format!("  {}", line.help)))?;
    }
    terminal::print_data(format!("time zones: {}", ZoneRules::load_newest().origin()))?;
    Ok(())
}
