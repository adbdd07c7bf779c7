//! Client libraries that others publish say what happened in every form that the docs name; a person who follows has
//! an entry of each, once.

use std::{collections::BTreeSet, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{process::RealProcess, python_program, run_program, tests_folder, wait_until};

/// How one client says one event.
struct ClientSaying {
    client: &'static str,
    way: &'static str,
    form: &'static str,
}

const SAYINGS: [ClientSaying; 8] = [
    ClientSaying { client: "python", way: "http", form: "structured" },
    ClientSaying { client: "python", way: "http", form: "binary" },
    ClientSaying { client: "python", way: "kafka", form: "structured" },
    ClientSaying { client: "python", way: "kafka", form: "binary" },
    ClientSaying { client: "node", way: "http", form: "structured" },
    ClientSaying { client: "node", way: "http", form: "binary" },
    ClientSaying { client: "node", way: "kafka", form: "structured" },
    ClientSaying { client: "node", way: "kafka", form: "binary" },
];

#[test]
fn what_public_clients_say_in_every_form_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let team = ClientTeam::start(folder.path()).unwrap();
    for saying in &SAYINGS {
        team.say(saying).with_context(|| saying.name()).unwrap();
    }
    // The same again, as clients do that heard no answer.
    team.say(&SAYINGS[0]).unwrap();
    team.say(&SAYINGS[7]).unwrap();
    let expected: BTreeSet<String> =
        SAYINGS.iter().map(|saying| format!("artwork:{}", saying.name())).collect();
    let told = wait_until(|| Ok(team.read_subjects()?.iter().cloned().collect::<BTreeSet<_>>() == expected));
    told.with_context(|| format!("{:?}: {}", team.read_subjects(), team.house.log_tail())).unwrap();
    assert_eq!(team.read_subjects().unwrap().len(), SAYINGS.len(), "each of them once");
}

impl ClientSaying {
    fn name(&self) -> String {
        format!("{}-{}-{}", self.client, self.way, self.form)
    }

    fn event(&self) -> String {
        let name = self.name();
        let data = json!({"title": format!("Grüße, {name}"), "artist": "artist:1", "published": true});
        json!({"id": name, "source": "/outside", "type": "artwork.published", "subject": format!("artwork:{name}"),
            "data": data})
        .to_string()
    }
}

/// Those upstream, and a house on Kafka and Cassandra.
struct ClientTeam {
    prefix: String,
    house: RealProcess,
}

impl ClientTeam {
    fn start(folder: &Path) -> Result<Self> {
        let name = format!("outside_{}", std::process::id());
        let mut settings = tests::production_settings(engines::kafka()?, engines::cql()?, &name);
        settings.extend(tests::env_settings([
            ("CATALOGUE", tests_folder().join("../examples/gallery").display().to_string()),
            ("LISTEN", "127.0.0.1:0".to_owned()),
            ("OUTBOX", folder.join("outbox").display().to_string()),
            ("PARTITIONS", "2".to_owned()),
            ("SECRET", "5e".repeat(32)),
        ]));
        RealProcess::new(folder.join("migration"), &["migrate"], settings.clone())?
            .run()
            .context("migrate")?;
        let rooms = ["run", "ingest", "fanout", "digest", "sender", "feed"];
        let house = RealProcess::new(folder.join("house"), &rooms, settings)?;
        house.start()?;
        wait_until(|| Ok(house.is_ready())).with_context(|| house.log_tail())?;
        let follow = json!({"id": "1", "source": "outside", "type": "tidings.follow", "person": "ann",
            "target": "artist:1"});
        let (status, text) = house.post_lines("/v1/facts", &follow.to_string())?;
        ensure!(status == 202, "{text}");
        Ok(Self { prefix: tests::prefix(&name), house })
    }

    fn say(&self, saying: &ClientSaying) -> Result<()> {
        let (url, broker) = (format!("{}/v1/changes", self.house.address()?), engines::kafka()?);
        let topic = format!("{}changes", self.prefix);
        let mut command = match saying.client {
            "python" => python_program("cloud_events.py")?,
            _ => engines::node("cloud_events.cjs")?,
        };
        match (saying.client, saying.way) {
            ("python", "http") => command.args(["http", &url, "--form", saying.form]),
            ("python", _) => command.args(["kafka", broker, "--topic", &topic, "--form", saying.form]),
            (_, "http") => command.args(["http", &url, saying.form]),
            _ => command.args(["kafka", broker, &topic, saying.form]),
        };
        run_program(command.arg(saying.event())).map(drop)
    }

    /// What Ann has, by an HTTP client that everybody knows.
    fn read_subjects(&self) -> Result<Vec<String>> {
        let url = format!("{}/v1/people/ann/entries", self.house.address()?);
        let body = run_program(Command::new(engines::python()?).args(["-c", GET, &url]))?;
        let page: Value = serde_json::from_str(&body)?;
        let entries = page["entries"].as_array().context("no entries")?;
        Ok(entries.iter().filter_map(|entry| entry["subject"].as_str()).map(str::to_owned).collect())
    }
}

const GET: &str = "import requests, sys; print(requests.get(sys.argv[1], timeout=60).text)";
