//! The peer: the digest's work in Kafka Streams, a Java program that lies in `peers/streams` and is built by Maven.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

/// Where it lies in a checkout.
const FOLDER: &str = "crates/bench/peers/streams";
const JAR: &str = "target/streams-peer.jar";
/// The jar and the libraries that the build lays beside it.
const CLASSES: &str = "target/*:target/lib/*";
const BUILD: &str = "mvn -q package";

/// The program, built.
pub struct StreamsPeer {
    folder: PathBuf,
}

/// What it says when it has ended.
#[derive(Debug, Deserialize)]
pub struct PeerReport {
    /// From the first record that it reads until its last window can be read.
    seconds: f64,
    records_told: usize,
    persons_out: usize,
    complete: bool,
    pub cpu_seconds: f64,
}

impl StreamsPeer {
    /// Finds it in the checkout around the working directory, and builds it if it is not built. Blocks.
    pub fn find_or_build(progress: &dyn Fn(&str)) -> anyhow::Result<Self> {
        let here = env::current_dir().context("the working directory")?;
        let folder = here.ancestors().map(|above| above.join(FOLDER)).find(|at| at.join("pom.xml").is_file());
        let Some(folder) = folder else {
            bail!("the peer is not here: run this bench in a checkout, which has `{FOLDER}`");
        };
        let peer = Self { folder };
        if !peer.folder.join(JAR).is_file() {
            progress(&format!("streams: `{BUILD}` in `{FOLDER}`"));
            peer.build().with_context(|| {
                format!("the peer could not be built: it needs JDK 17 and Maven, and is built by `{BUILD}` in `{FOLDER}`")
            })?;
        }
        Ok(peer)
    }

    fn build(&self) -> anyhow::Result<()> {
        let mut words = BUILD.split(' ');
        let mut maven = Command::new(words.next().unwrap_or_default());
        let built = maven.args(words).current_dir(&self.folder).output().context("start Maven")?;
        let said = [built.stdout, built.stderr].concat();
        ensure!(built.status.success(), "{}", String::from_utf8_lossy(&said).trim());
        Ok(())
    }

    /// Has it read so many records of so many persons from one topic, and tell them on the other. Blocks.
    pub fn run(
        &self,
        brokers: &str,
        topics: [&str; 2],
        (records, persons): (usize, usize),
    ) -> anyhow::Result<PeerReport> {
        let mut java = Command::new("java");
        java.current_dir(&self.folder);
        java.args(["-Xmx2g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp"]);
        java.arg(CLASSES);
        java.args(["StreamsPeer", "--guarantee", "exactly_once_v2", "--threads", "2"]);
        java.args(["--brokers", brokers, "--from", topics[0], "--to", topics[1]]);
        java.args(["--records", &records.to_string(), "--persons", &persons.to_string()]);
        let ran = java.stdin(Stdio::null()).output().context("start java, of JDK 17")?;
        let (said, talk) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        let last = said.lines().last().unwrap_or_default();
        serde_json::from_str(last)
            .with_context(|| format!("the peer ended with {}: {}{}", ran.status, said.trim(), talk.trim()))
    }
}

impl PeerReport {
    pub fn elapsed_time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds.max(0.0))
    }

    /// Whether everybody was told, and of each record.
    pub fn is_complete(&self, (records, persons): (usize, usize)) -> bool {
        self.complete && self.records_told == records && self.persons_out == persons
    }
}
