//! The picture in the README is a mail that the demo sends. `TIDINGS_PICTURES=DIR cargo test -p tests --test seen picture` draws it anew.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use engines::node;

use crate::{
    house::{ExampleHouse, example_folder},
    pages::text_between,
};

const PICTURE: &str = "docs/pictures/mail.svg";
/// What is drawn of the mail: its top, as wide as a mailbox on a desk shows it.
const WIDTH: &str = "640";
const HEIGHT: &str = "1180";
/// Words that the picture has at least.
const WORDS_MIN: usize = 35;

#[test]
fn the_picture_of_the_readme_is_a_mail_of_the_demo() {
    let drawn = draw_picture().unwrap();
    if let Some(folder) = std::env::var_os("TIDINGS_PICTURES") {
        fs::write(Path::new(&folder).join("mail.svg"), &drawn).unwrap();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shown = fs::read_to_string(root.join(PICTURE)).unwrap();
    let (drawn, shown) = (picture_words(&drawn), picture_words(&shown));
    // Another font has other lines, so the one may end a line sooner than the other.
    let most = drawn.len().min(shown.len());
    assert!(most >= WORDS_MIN, "{shown:?}");
    assert_eq!(drawn[..most], shown[..most]);
    assert!(fs::read_to_string(root.join("README.md")).unwrap().contains(PICTURE));
}

/// The first mail that the demo sends to Ann, drawn.
fn draw_picture() -> Result<String> {
    let house = ExampleHouse::start_as(&example_folder("gallery"), &[], &["--demo"])?;
    house.wait_begun("ann")?;
    let outbox = house.page("/outbox")?;
    let ids = outbox.split("/outbox/mail?id=").skip(1).filter_map(|rest| rest.split('"').next());
    let mut mails = ids.map(|id| house.page(&format!("/outbox/html?id={id}")));
    let mail = mails.find(|mail| mail.as_ref().is_ok_and(|mail| mail.contains("Hello, Ann")));
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("mail.html");
    fs::write(&file, mail.context("no mail to Ann in the outbox")??)?;
    let drew = node("draw_mail.cjs")?.arg(&file).args([WIDTH, HEIGHT]).output().context("draw the mail")?;
    ensure!(drew.status.success(), "{}", String::from_utf8_lossy(&drew.stderr));
    Ok(String::from_utf8(drew.stdout)?)
}

/// The words of a picture but those of its date, which is that of the day on which it was drawn.
fn picture_words(picture: &str) -> Vec<&str> {
    let lines = picture.lines().filter(|line| line.starts_with("<text"));
    let lines =
        lines.filter_map(|line| text_between(line, ">", "<")).filter(|line| !line.starts_with("GALLERY"));
    lines.flat_map(str::split_whitespace).collect()
}
