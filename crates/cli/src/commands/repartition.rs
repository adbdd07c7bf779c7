//! `tidings repartition`: says what another number of partitions would mean, and does it.

use anyhow::Context as _;
use model::{UtcMillis, partition::PartitionCount};
use settings::config::Config;
use shell::{failure::CommandError, terminal};
use upkeep::repartition::{self, RepartitionOrder, RepartitionPlan};

use super::{
    OutputStyle,
    access::{DirectEngines, HouseAccess, reach_own_house},
    replay::operator_name,
};
use crate::arguments as cli;

pub fn run(config: &Config, asked: &cli::RepartitionArgs, out: OutputStyle) -> Result<(), CommandError> {
    let to = PartitionCount::new(asked.to).context("this number of partitions is not possible")?;
    let files = match reach_own_house(config)? {
        HouseAccess::Files(files) => files,
        HouseAccess::Running(_) => {
            return Err(CommandError::from_refusal("a house runs here; stop it first"));
        }
    };
    let plan = files.runtime.block_on(repartition::plan_repartition(&*files.topics, to))?;
    if !asked.execute {
        return print_plan(&plan, out);
    }
    if !plan.obstacles.is_empty() {
        return Err(CommandError::from_refusal(plan.obstacles.join("\n")));
    }
    let kept = execute_order(&files, to)?;
    if out.json {
        return Ok(terminal::print_json(&kept)?);
    }
    terminal::print_data(format!("{} partitions: {kept}", plan.to))?;
    if config.partitions != to {
        terminal::print_talk(format!(
            "no house starts until `partitions` in the configuration is {}",
            plan.to
        ));
    }
    Ok(())
}

fn execute_order(files: &DirectEngines, to: PartitionCount) -> anyhow::Result<repartition::RememberedCount> {
    let order = RepartitionOrder { to, who: operator_name(), at: UtcMillis(files.clock.now()) };
    let done = files.runtime.block_on(repartition::execute_repartition(&*files.topics, &order, &|step| {
        terminal::print_talk(step);
    }));
    done.context("run the same command again to continue")
}

fn print_plan(plan: &RepartitionPlan, out: OutputStyle) -> Result<(), CommandError> {
    let RepartitionPlan { from, to, is_under_way, kept, emptied, obstacles } = plan;
    if out.json {
        terminal::print_json(plan)?;
    } else {
        let so_far = if *is_under_way { ", which is under way" } else { "" };
        terminal::print_data(format!("from {from} to {to} partitions{so_far}"))?;
        terminal::print_data(format!("would keep {kept}"))?;
        for (topic, records) in emptied {
            terminal::print_data(format!("would empty {topic}: {records} records"))?;
        }
    }
    if !obstacles.is_empty() {
        return Err(CommandError::from_refusal(obstacles.join("\n")));
    }
    if from == to {
        terminal::print_talk("there are as many partitions already");
    } else {
        terminal::print_talk(format!("to do it, run `tidings repartition --to {to} --execute`"));
    }
    Ok(())
}
