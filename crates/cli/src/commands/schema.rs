//! `tidings schema`: the JSON Schema of a catalogue.

use shell::{failure::CommandError, terminal};

pub fn run() -> Result<(), CommandError> {
    Ok(terminal::print_data(catalogue::schema::write_schema().trim_end())?)
}
