//! `tidings config`: the effective configuration.

use model::civil::Zones;

use super::Out;
use crate::{
    config::{Merged, show},
    failure::Failure,
    say,
};

pub fn run(merged: &Merged, out: Out) -> Result<(), Failure> {
    if out.json {
        return Ok(say::json(&show::json(merged))?);
    }
    let paint = say::Paint::data();
    let lines = show::lines(merged);
    let rows: Vec<[String; 3]> = lines
        .iter()
        .map(|line| [line.name.to_owned(), say::clean(&line.value), line.source.clone()])
        .collect();
    for (row, line) in say::table(&rows).into_iter().zip(&lines) {
        say::data(row)?;
        say::data(paint.with(say::FAINT, format!("  {}", line.help)))?;
    }
    say::data(format!("time zones: {}", Zones::newest().origin()))?;
    Ok(())
}
