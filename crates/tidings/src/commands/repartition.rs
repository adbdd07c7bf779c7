//! `tidings repartition`: says what another number of partitions would mean, and does it.

use anyhow::Context as _;
use model::{Millis, partition::Partitions};

use super::{
    Out,
    reach::{Files, Reach, reach_all},
    replay::by,
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    repartition::{self, Order, Plan},
    say,
};

pub fn run(config: &Config, asked: &cli::Repartition, out: Out) -> Result<(), Failure> {
    let to = Partitions::new(asked.to).context("so many partitions cannot be")?;
    let files = match reach_all(config)? {
        Reach::Files(files) => files,
        Reach::Running(_) => return Err(Failure::refused("a house runs here; stop it first")),
    };
    let plan = files.runtime.block_on(repartition::plan(&*files.topics, to))?;
    if !asked.execute {
        return show(&plan, out);
    }
    if !plan.obstacles.is_empty() {
        return Err(Failure::refused(plan.obstacles.join("\n")));
    }
    let kept = execute(&files, to)?;
    if out.json {
        return Ok(say::json(&kept)?);
    }
    say::data(format!("{} partitions: {kept}", plan.to))?;
    if config.partitions != to {
        say::talk(format!("no house starts until `partitions` in the configuration is {}", plan.to));
    }
    Ok(())
}

fn execute(files: &Files, to: Partitions) -> anyhow::Result<repartition::Count> {
    let order = Order { to, who: by(), at: Millis(files.clock.now()) };
    let done = files.runtime.block_on(repartition::execute(&*files.topics, &order, &|step| say::talk(step)));
    done.context("the same command goes on where it stopped")
}

fn show(plan: &Plan, out: Out) -> Result<(), Failure> {
    let Plan { from, to, is_under_way, kept, emptied, obstacles } = plan;
    if out.json {
        say::json(plan)?;
    } else {
        let so_far = if *is_under_way { ", which is under way" } else { "" };
        say::data(format!("from {from} to {to} partitions{so_far}"))?;
        say::data(format!("kept: {kept}"))?;
        for (topic, records) in emptied {
            say::data(format!("emptied: {topic}, {records} records, all of them read"))?;
        }
    }
    if !obstacles.is_empty() {
        return Err(Failure::refused(obstacles.join("\n")));
    }
    if from == to {
        say::talk("there are so many already");
    } else {
        say::talk(format!("`tidings repartition --to {to} --execute` does it"));
    }
    Ok(())
}
