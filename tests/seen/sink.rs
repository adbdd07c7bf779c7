//! A sink and a house as somebody has them who tries mails out: two programs, and a page.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::house::{House, example, waited};

struct Sink {
    child: Child,
    address: String,
    way: String,
}

impl Sink {
    fn start() -> Result<Self> {
        let mut command = Command::new(tests::binary()?);
        command.args(["sink", "--json", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        let said = BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line);
        let mut sink = Self { child, address: String::new(), way: String::new() };
        said?;
        let where_it_is: Value = serde_json::from_str(&line).context("what the sink said")?;
        sink.address = where_it_is["address"].as_str().context("no address")?.to_owned();
        sink.way = where_it_is["way"].as_str().context("no way")?.to_owned();
        Ok(sink)
    }

    fn page(&self, path: &str) -> Result<String> {
        let mut answer = ureq::get(format!("{}{path}", self.address)).call()?;
        Ok(answer.body_mut().read_to_string()?)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_demos_mails_come_to_the_page_of_a_sink() {
    let sink = Sink::start().unwrap();
    let at = sink.way.rsplit('/').next().unwrap();
    assert!(sink.page("").unwrap().contains(at), "it says how mails come there");
    let settings = [("TIDINGS_MAIL_WAYS", sink.way.as_str())];
    let house = House::start_as(&example("gallery"), &settings, &["--demo"]).unwrap();
    house.begun("ann").unwrap();
    house.release("morning_mail").unwrap();
    let mail = waited("a mail to Ann", || first(&sink.page("")?, "ann@example.org")).unwrap();
    let shown = sink.page(&format!("inbox/mail?id={mail}&show=headers")).unwrap();
    assert!(shown.contains("List-Unsubscribe-Post"), "{shown}");
    let html = sink.page(&format!("inbox/html?id={mail}")).unwrap();
    assert!(html.contains("Mira Okafor"), "{html}");
    let outbox = house.page("/outbox").unwrap();
    assert!(outbox.contains("No mail has left"), "what went to a server is not in the outbox: {outbox}");
}

#[test]
fn a_sink_is_of_this_machine_unless_told() {
    let check = |words: &[&str], expected: &str| -> Result<()> {
        let output = Command::new(tests::binary()?).arg("sink").args(words).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(3) && said.contains(expected), "{words:?}: {said}");
        Ok(())
    };
    check(&["--listen", "0.0.0.0:0"], "--from-others says that they may").unwrap();
    check(&["--from-others", "--page", "0.0.0.0:0"], "on this machine alone").unwrap();
}

/// The number of a mail to somebody on the page, if there is one.
fn first(page: &str, to: &str) -> Result<Option<String>> {
    let Some((before, _)) = page.split_once(to) else { return Ok(None) };
    let link = before.rsplit_once("/inbox/mail?id=").context("a mail without a link")?.1;
    Ok(Some(link.chars().take_while(char::is_ascii_digit).collect()))
}
