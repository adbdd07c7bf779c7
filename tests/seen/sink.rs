//! A sink and a house as somebody has them who tries mails out: two programs, and a page.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use tests::sink::SinkProcess;

use crate::house::{ExampleHouse, example_folder, wait_for};

fn get_page(sink: &SinkProcess, path: &str) -> Result<String> {
    let mut answer = ureq::get(format!("{}{path}", sink.page)).call()?;
    Ok(answer.body_mut().read_to_string()?)
}

#[test]
fn a_demos_mails_come_to_the_page_of_a_sink() {
    let sink = SinkProcess::start().unwrap();
    let at = sink.way.rsplit('/').next().unwrap();
    assert!(get_page(&sink, "").unwrap().contains(at), "it says how mails come there");
    let settings = [("TIDINGS_MAIL_WAYS", sink.way.as_str())];
    let house = ExampleHouse::start_as(&example_folder("gallery"), &settings, &["--demo"]).unwrap();
    house.wait_begun("ann").unwrap();
    house.release("morning_mail").unwrap();
    let mail = wait_for("a mail to Ann", || first_mail(&get_page(&sink, "")?, "ann@example.org")).unwrap();
    let shown = get_page(&sink, &format!("inbox/mail?id={mail}&show=headers")).unwrap();
    assert!(shown.contains("List-Unsubscribe-Post"), "{shown}");
    let html = get_page(&sink, &format!("inbox/html?id={mail}")).unwrap();
    assert!(html.contains("Mira Okafor"), "{html}");
    let outbox = house.page("/outbox").unwrap();
    assert!(
        outbox.contains("No message has been sent yet"),
        "what went to a server is not in the outbox: {outbox}"
    );
}

#[test]
fn a_sink_is_of_this_machine_unless_told() {
    let check = |words: &[&str], expected: &str| -> Result<()> {
        let output = Command::new(tests::binary()?).arg("sink").args(words).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(3) && said.contains(expected), "{words:?}: {said}");
        Ok(())
    };
    check(&["--listen", "0.0.0.0:0"], "allow that with --from-others").unwrap();
    check(&["--from-others", "--page", "0.0.0.0:0"], "on this machine only").unwrap();
}

/// The number of a mail to somebody on the page, if there is one.
fn first_mail(page: &str, to: &str) -> Result<Option<String>> {
    let Some((before, _)) = page.split_once(to) else { return Ok(None) };
    let link = before.rsplit_once("/inbox/mail?id=").context("a mail without a link")?.1;
    Ok(Some(link.chars().take_while(char::is_ascii_digit).collect()))
}
