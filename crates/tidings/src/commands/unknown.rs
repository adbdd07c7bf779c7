//! `tidings unknown`: messages of which nobody can say whether they went out.

use model::Millis;

use super::{
    Out,
    reach::{Files, Reach, reach},
};
use crate::{
    cli,
    config::Config,
    failure::Failure,
    say::{self, Paint},
    unknown::{self, One},
};

const HEAD: [&str; 6] = ["at", "person", "plan", "channel", "message", "then"];

pub fn run(config: &Config, asked: &cli::Unknown, out: Out) -> Result<(), Failure> {
    let found: Vec<One> = match reach(config)? {
        Reach::Running(client) => {
            client.get("/admin/unknown", &[("hours", &asked.hours.to_string())])?.good()?
        }
        Reach::Files(files) => {
            let Files { runtime, topics, store, clock, .. } = &*files;
            let since = (asked.hours, Millis(clock.now()));
            runtime.block_on(unknown::list(&**topics, &**store, &config.tenant, since))?
        }
    };
    if out.json {
        return Ok(say::json(&found)?);
    }
    if found.is_empty() {
        say::talk(format!("of all messages of the last {} h one knows what became of them", asked.hours));
        return Ok(());
    }
    let rows = std::iter::once(HEAD.map(str::to_owned)).chain(found.iter().map(row));
    let mut lines = say::table(&rows.collect::<Vec<_>>()).into_iter();
    if let Some(head) = lines.next() {
        say::data(Paint::data().with(say::FAINT, head))?;
    }
    lines.try_for_each(say::data)?;
    if found.len() == unknown::LISTED_MAX {
        say::talk(format!("these are the last {}; `--hours` looks at fewer", unknown::LISTED_MAX));
    }
    Ok(())
}

fn row(one: &One) -> [String; 6] {
    let One { at, person, plan, channel, ready, attempt: _, then } = one;
    [at.clone(), say::clean(person), plan.clone(), channel.clone(), ready.clone(), then.text().to_owned()]
}
