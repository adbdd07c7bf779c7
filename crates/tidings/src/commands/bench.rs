//! `tidings bench`: what this machine does, beside what it could.

use ::bench::{BENCHES, Bench};
use anyhow::{Context as _, anyhow};
use serde_json::json;

use super::Out;
use crate::{cli, failure::Failure, say};

pub fn run(asked: &cli::Bench, out: Out) -> Result<(), Failure> {
    if asked.name == "list" {
        return list(out);
    }
    if !BENCHES.iter().any(|bench| bench.name == asked.name) {
        let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        return Err(Failure::Usage(format!(
            "there is no bench `{}`; there is {}",
            asked.name,
            names.join(", ")
        )));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start tokio")?;
    let program = std::env::current_exe().context("find this program")?;
    let ran = ::bench::run(&asked.name, asked.size, &program, &|what| say::talk(what));
    let report = runtime.block_on(ran)?;
    if out.json {
        say::json(&report)?;
    } else {
        say::data(&report)?;
    }
    // A figure whose check did not hold is none.
    if report.oracle.held { Ok(()) } else { Err(anyhow!("{} did not hold", report.oracle.checked).into()) }
}

fn list(out: Out) -> Result<(), Failure> {
    if out.json {
        let one = |bench: &Bench| json!({"name": bench.name, "measures": bench.measures, "size": bench.size});
        let all: Vec<_> = BENCHES.iter().map(one).collect();
        return Ok(say::json(&all)?);
    }
    let row = |bench: &Bench| [bench.name.to_owned(), bench.size.to_string(), bench.measures.to_owned()];
    let rows: Vec<_> = BENCHES.iter().map(row).collect();
    for line in say::table(&rows) {
        say::data(line)?;
    }
    Ok(())
}
