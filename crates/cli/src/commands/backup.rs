//! `tidings backup`: marks a stopped house before it is copied, and checks what was restored.

use adapters::engine_setup::backup_mark::{self, BackupMarks};
use model::UtcMillis;
use settings::config::{Config, EngineConfig};
use shell::{failure::CommandError, terminal};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_any_house},
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::BackupCommand, out: OutputStyle) -> Result<(), CommandError> {
    let EngineConfig::Production(production) = &config.engine else {
        return Err(CommandError::from_refusal(
            "there is no mark to set or check: the engine is `embedded`, whose directory is copied as a whole",
        ));
    };
    let files = match reach_any_house(config)? {
        HouseAccess::Files(files) => files,
        HouseAccess::Running(_) => {
            return Err(CommandError::from_refusal("a house runs here; stop it first"));
        }
    };
    let DirectEngines { runtime, topics, store, clock, .. } = &*files;
    let names = (production.kafka.prefix.as_str(), production.cql.keyspace.as_str());
    let marks = runtime.block_on(async {
        match asked {
            cli::BackupCommand::Mark => {
                backup_mark::write_backup_mark(&**topics, &**store, names, UtcMillis(clock.now())).await
            }
            cli::BackupCommand::Check => backup_mark::read_backup_marks(&**topics, &**store, names).await,
        }
    });
    let marks = marks.map_err(lifecycle::start::start_failure)?;
    let gaps = marks.find_gaps();
    if out.json {
        terminal::print_json(&marks)?;
    } else if gaps.is_empty() {
        terminal::print_data(describe_marks(&marks))?;
    }
    if gaps.is_empty() { Ok(()) } else { Err(CommandError::from_refusal(gaps.join("\n"))) }
}

fn describe_marks(marks: &BackupMarks) -> String {
    let at = marks.topics.map(|at| at.to_string()).unwrap_or_default();
    format!("house {}: topics and tables are of {at}, and neither went on", marks.house)
}
