//! `tidings size`: how large a house has to be.

use shell::{failure::CommandError, terminal};
use sizing::{HouseSize, chart_values::write_chart_values, compute_size, measured, table};

use super::OutputStyle;
use crate::arguments as cli;

/// Columns that fit beside each other.
const COLUMNS_MAX: usize = 3;

pub fn run(asked: &cli::SizeArgs, out: OutputStyle) -> Result<(), CommandError> {
    if asked.figures {
        if out.json {
            return Ok(terminal::print_json(&measured::ALL)?);
        }
        return print_table(&table::describe_figures());
    }
    let questions = asked.questions();
    if questions.len() > COLUMNS_MAX || asked.digests_within.len() > questions.len().max(1) {
        return Err(CommandError::Usage(format!(
            "--persons takes {COLUMNS_MAX} numbers at most, and --digests-within no more than --persons"
        )));
    }
    let sizes: Vec<HouseSize> = questions.into_iter().map(compute_size).collect();
    if asked.values {
        let [size] = &sizes[..] else {
            return Err(CommandError::Usage("--values is for one number of --persons".to_owned()));
        };
        return Ok(terminal::print_data(write_chart_values(size).trim_end())?);
    }
    if out.json {
        return Ok(terminal::print_json(&sizes)?);
    }
    let rows = table::describe_sizes(&sizes).into_iter().map(|cells| {
        let mut cells = cells.into_iter();
        [(); COLUMNS_MAX + 1].map(|()| cells.next().unwrap_or_default())
    });
    print_table(&rows.collect::<Vec<_>>())?;
    terminal::print_data("")?;
    for line in sizes.first().map(table::describe_assumptions).unwrap_or_default() {
        terminal::print_data(line)?;
    }
    Ok(())
}

fn print_table<const N: usize>(rows: &[[String; N]]) -> Result<(), CommandError> {
    Ok(terminal::format_table(rows).iter().try_for_each(terminal::print_data)?)
}
