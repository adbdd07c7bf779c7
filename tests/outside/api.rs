//! Schemathesis reads the `/openapi.json` of a running house and asks the house for what it promises: no answer is a server's error,
//! each status, header and body is one that the description has, and what is wrong is refused.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, ensure};

use crate::{process::RealProcess, python_program, random_seed, run_program, start_house, tests_folder};

/// Requests made up for each path in the last phase.
const EXAMPLES: &str = "15";
/// How long an answer is waited for.
const WHOLE_SECS: &str = "60";
/// The operation that streams, how often it is asked, and how long it is listened to.
const STREAM: &str = "getFeedEvents";
const STREAM_EXAMPLES: &str = "6";
const STREAM_SECS: &str = "2";

#[test]
fn a_fuzzer_finds_the_api_as_it_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let house = start_house(folder.path()).unwrap();
    let description = format!("{}/openapi.json", house.address().unwrap());
    let mut whole = fuzzer(folder.path(), &house, (&description, WHOLE_SECS)).unwrap();
    whole.args(["--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES]);
    println!("{}", run_program(whole.args(["--exclude-operation-id", STREAM])).unwrap());
    // A stream has no end: it is listened to for a moment.
    let mut stream = fuzzer(folder.path(), &house, (&description, STREAM_SECS)).unwrap();
    stream.args(["--phases", "fuzzing", "--max-examples", STREAM_EXAMPLES, "--include-operation-id", STREAM]);
    println!("{}", run_program(&mut stream).unwrap());
    assert!(house.is_ready() && house.exit_status().is_none(), "{}", house.log_tail());

    // The same finds a description that is wrong.
    let wrong = folder.path().join("wrong.json");
    let text = house.get_text("/openapi.json", None).unwrap().1;
    let text = replace_text(&text, NEXT, &NEXT.replace("string", "integer")).unwrap();
    fs::write(&wrong, text).unwrap();
    let wrong = wrong.display().to_string();
    let mut doubtful = fuzzer(folder.path(), &house, (&wrong, WHOLE_SECS)).unwrap();
    doubtful.args(["--phases", "coverage", "--include-operation-id", "getEntries"]);
    let found = format!("{:#}", run_program(&mut doubtful).unwrap_err());
    assert!(found.contains("Response violates schema"), "{found}");
}

/// What the description says of the cursor.
const NEXT: &str = "\"description\": \"Where to go on.\",\n            \"type\": \"string\"";

/// A fuzzer with a description, that waits so many seconds for an answer.
fn fuzzer(folder: &Path, house: &RealProcess, (description, secs): (&str, &str)) -> Result<Command> {
    let mut fuzzer = python_program("run_schemathesis.py")?;
    fuzzer.arg("--config-file").arg(tests_folder().join("python/schemathesis.toml"));
    let (url, token) = (house.address()?, house.token()?);
    fuzzer.args(["run", description, "--url", &url, "--no-color", "--request-timeout", secs]);
    // The operators' paths want their token; the others do not look at it where there are no keys.
    fuzzer.arg("--header").arg(format!("Authorization: Bearer {token}"));
    // With a memory of its own, a machine would fail for what another run has found, and a seed would not repeat its run.
    fuzzer.args([
        "--max-failures",
        "10",
        "--generation-database",
        "none",
        "--seed",
        &random_seed().to_string(),
    ]);
    // How fast the fuzzer makes up its requests says nothing of the house, and a busy machine is slow.
    fuzzer.args(["--suppress-health-check", "too_slow"]);
    // What is well formed is refused all the same where the catalogue does not know it, where nothing of the name is
    // there, or where the house is no demo. All other checks are on.
    fuzzer.args(["--exclude-checks", "positive_data_acceptance"]).current_dir(folder);
    Ok(fuzzer)
}

fn replace_text(text: &str, from: &str, to: &str) -> Result<String> {
    ensure!(text.contains(from), "the description has no `{from}` any more");
    Ok(text.replace(from, to))
}
