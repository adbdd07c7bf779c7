//! `tidings init`: a folder with a small catalogue that works, to be changed into one's own.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use anyhow::Context as _;
use serde_json::json;

use super::Out;
use crate::{
    cli,
    failure::Failure,
    say::{self, Paint},
};

/// What the catalogue is called before it has a name of its own.
const UNNAMED: &str = "catalogue: library";
/// Words that YAML takes for something else than a name.
const NO_NAMES: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
/// Bytes of a catalogue's name.
const NAME_BYTES_MAX: usize = 64;

/// The files of the folder. They are a catalogue of their own in `scaffold/`, which a test checks.
const FILES: [(&str, &str); 7] = [
    ("catalogue.yaml", include_str!("../../scaffold/catalogue.yaml")),
    ("words.txt", include_str!("../../scaffold/words.txt")),
    ("demo.ndjson", include_str!("../../scaffold/demo.ndjson")),
    ("mail/morning.mjml", include_str!("../../scaffold/mail/morning.mjml")),
    ("mail/morning.txt", include_str!("../../scaffold/mail/morning.txt")),
    (
        "scenarios/one-mail-in-the-morning.txt",
        include_str!("../../scaffold/scenarios/one-mail-in-the-morning.txt"),
    ),
    (
        "scenarios/only-what-is-still-true.txt",
        include_str!("../../scaffold/scenarios/only-what-is-still-true.txt"),
    ),
];

pub fn run(asked: &cli::Init, out: Out) -> Result<(), Failure> {
    let dir = &asked.dir;
    let name = name_of(dir)?;
    empty(dir)?;
    for (file, text) in FILES {
        let own = text.replacen(UNNAMED, &format!("catalogue: {name}"), 1);
        write(&dir.join(file), &own)?;
    }
    if out.json {
        let files = FILES.map(|(file, _)| file);
        return Ok(say::json(&json!({"catalogue": name, "folder": dir, "files": files}))?);
    }
    told(dir)
}

/// The catalogue is called like its folder.
fn name_of(dir: &Path) -> Result<String, Failure> {
    let full = std::path::absolute(dir).context("the current folder")?;
    let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_word = !NO_NAMES.contains(&name.to_lowercase().as_str());
    if begins && fits && is_word && name.len() <= NAME_BYTES_MAX {
        return Ok(name.to_owned());
    }
    let rule = "letters, digits, `-` and `_`, beginning with a letter";
    let what = format!("`{}` cannot be the name of a catalogue: it is a word of {rule}", say::clean(name));
    Err(Failure::Usage(what))
}

/// Makes the folder, unless something is in it already: what somebody has written is never written over.
fn empty(dir: &Path) -> Result<(), Failure> {
    let shown = dir.display();
    match fs::read_dir(dir) {
        Ok(mut there) => match there.next() {
            None => Ok(()),
            Some(_) => {
                Err(Failure::refused(format!("{shown} is not empty; name a folder that is not there yet")))
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(fs::create_dir_all(dir).with_context(|| format!("make {shown}"))?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(Failure::refused(format!("{shown} is a file; name a folder that is not there yet")))
        }
        Err(error) => Err(anyhow::Error::new(error).context(format!("look into {shown}")).into()),
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
    };
    written().with_context(|| format!("write {}", path.display()))
}

fn told(dir: &Path) -> Result<(), Failure> {
    let paint = Paint::data();
    let shown = dir.display().to_string();
    say::data(format!("{} is a small catalogue that works:", paint.with(say::BOLD, &shown)))?;
    let rows = [
        ("catalogue.yaml", "who is told what, and when"),
        ("mail/", "what the mail looks like, and its plain text"),
        ("scenarios/", "two stories that prove it; words.txt has their words"),
        ("demo.ndjson", "the people and books that a demo begins with"),
    ];
    let rows = rows.map(|(file, what)| [format!("  {file}"), what.to_owned()]);
    say::table(&rows).into_iter().try_for_each(say::data)?;
    say::data("")?;
    say::data("Next:")?;
    let rows = [
        (format!("tidings check {shown}"), "does it work? plays the scenarios, too"),
        (format!("tidings check {shown} --watch"), "the same again whenever you change a file"),
        (format!("tidings up --catalogue {shown} --demo"), "run it here, with a page and a clock to move"),
    ];
    let rows = rows.map(|(line, what)| [format!("  {line}"), what.to_owned()]);
    Ok(say::table(&rows).into_iter().try_for_each(say::data)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::check;

    fn init(dir: &Path) -> Result<(), Failure> {
        run(&cli::Init { dir: dir.to_owned() }, Out { json: true })
    }

    #[test]
    fn what_init_makes_is_green_and_has_no_notes() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("my-Shop_2");
        init(&dir).unwrap();
        let found = check::look(&dir, &check::Ask::default()).unwrap();
        assert_eq!(found.catalogue.name, "my-Shop_2");
        assert_eq!(found.notes, []);
        let passed: Vec<bool> = found.played.iter().map(|played| played.passed).collect();
        assert_eq!(passed, [true, true], "{:?}", found.played);
    }

    #[test]
    fn every_file_of_the_scaffold_is_written() {
        fn files(dir: &Path, below: &str, found: &mut Vec<String>) {
            for item in fs::read_dir(dir).unwrap() {
                let item = item.unwrap();
                let name = format!("{below}{}", item.file_name().to_str().unwrap());
                if item.path().is_dir() {
                    files(&item.path(), &format!("{name}/"), found);
                } else {
                    found.push(name);
                }
            }
        }
        let mut found = Vec::new();
        files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffold"), "", &mut found);
        found.sort();
        let mut written = FILES.map(|(file, _)| file);
        written.sort_unstable();
        assert_eq!(found, written);
        assert!(FILES[0].1.contains(UNNAMED));
    }

    #[test]
    fn nothing_is_written_over() {
        let home = tempfile::tempdir().unwrap();
        let full = home.path().join("full");
        fs::create_dir(&full).unwrap();
        fs::write(full.join("mine"), "x").unwrap();
        for (dir, says) in [(full.clone(), "is not empty"), (full.join("mine"), "is a file")] {
            let refused = init(&dir).unwrap_err();
            assert_eq!(refused.code(), 3, "{refused}");
            assert!(refused.to_string().contains(says), "{refused}");
        }
        assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
        // One that is there and empty will do.
        fs::create_dir(home.path().join("empty")).unwrap();
        init(&home.path().join("empty")).unwrap();
        for name in ["7days", "a b", "ü", "x:y", "No"] {
            let refused = init(&home.path().join(name)).unwrap_err();
            assert_eq!(refused.code(), 2, "{name}: {refused}");
            assert!(!home.path().join(name).exists(), "{name}");
        }
    }
}
