//! `tidings init`: creates a folder with a small catalogue that works, to start from.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use anyhow::Context as _;
use catalogue::schema;
use serde_json::json;
use shell::{
    failure::CommandError,
    terminal::{self, TextPainter},
};

use super::OutputStyle;
use crate::arguments as cli;

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

pub fn run(asked: &cli::InitArgs, out: OutputStyle) -> Result<(), CommandError> {
    let dir = &asked.dir;
    let name = catalogue_name(dir)?;
    make_empty_folder(dir)?;
    for (file, text) in FILES {
        let own = text.replacen(UNNAMED, &format!("catalogue: {name}"), 1);
        write_file(&dir.join(file), &own)?;
    }
    write_file(&dir.join(schema::FILE), &schema::write_schema())?;
    if out.json {
        let files: Vec<&str> = FILES.iter().map(|(file, _)| *file).chain([schema::FILE]).collect();
        return Ok(terminal::print_json(&json!({"catalogue": name, "folder": dir, "files": files}))?);
    }
    print_next_steps(dir)
}

/// The catalogue is called like its folder.
fn catalogue_name(dir: &Path) -> Result<String, CommandError> {
    let full = std::path::absolute(dir).context("the current folder")?;
    let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_word = !NO_NAMES.contains(&name.to_lowercase().as_str());
    if begins && fits && is_word && name.len() <= NAME_BYTES_MAX {
        return Ok(name.to_owned());
    }
    let rule = "letters, digits, `-` and `_`, and begin with a letter";
    let what = format!(
        "`{}` cannot be the name of a catalogue: it must consist of {rule}",
        terminal::clean_text(name)
    );
    Err(CommandError::Usage(what))
}

/// Makes the folder, unless something is in it already: what somebody has written is never written over.
fn make_empty_folder(dir: &Path) -> Result<(), CommandError> {
    let shown = dir.display();
    match fs::read_dir(dir) {
        Ok(mut there) => match there.next() {
            None => Ok(()),
            Some(_) => Err(CommandError::from_refusal(format!("{shown} is not empty; name a new folder"))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(fs::create_dir_all(dir).with_context(|| format!("make {shown}"))?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(CommandError::from_refusal(format!("{shown} is a file; name a new folder")))
        }
        Err(error) => Err(anyhow::Error::new(error).context(format!("read {shown}")).into()),
    }
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
    };
    written().with_context(|| format!("write {}", path.display()))
}

fn print_next_steps(dir: &Path) -> Result<(), CommandError> {
    let paint = TextPainter::for_data();
    let shown = dir.display().to_string();
    terminal::print_data(format!("{} is a small catalogue that works:", paint.with(terminal::BOLD, &shown)))?;
    let rows = [
        ("catalogue.yaml", "the kinds and plans: who is told, of what and when"),
        (schema::FILE, "the schema with which an editor completes and explains it"),
        ("mail/", "the template of the mail, and its plain text"),
        ("scenarios/", "two stories that prove it; words.txt has their words"),
        ("demo.ndjson", "the people and books that a demo begins with"),
    ];
    let rows = rows.map(|(file, what)| [format!("  {file}"), what.to_owned()]);
    terminal::format_table(&rows).into_iter().try_for_each(terminal::print_data)?;
    terminal::print_data("")?;
    terminal::print_data("Next:")?;
    let rows = [
        (format!("tidings check {shown}"), "checks the catalogue and plays the scenarios"),
        (format!("tidings check {shown} --watch"), "does so whenever you change a file"),
        (format!("tidings up --catalogue {shown} --demo"), "runs it here, with a page and a clock to move"),
    ];
    let rows = rows.map(|(line, what)| [format!("  {line}"), what.to_owned()]);
    Ok(terminal::format_table(&rows).into_iter().try_for_each(terminal::print_data)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::check;

    fn run_init(dir: &Path) -> Result<(), CommandError> {
        run(&cli::InitArgs { dir: dir.to_owned() }, OutputStyle { json: true })
    }

    #[test]
    fn what_init_makes_is_green_and_has_no_notes() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("my-Shop_2");
        run_init(&dir).unwrap();
        let found = check::check_catalogue(&dir, &check::CatalogueCheckRequest::default()).unwrap();
        assert_eq!(found.catalogue.name, "my-Shop_2");
        assert_eq!(found.notes, []);
        let passed: Vec<bool> = found.played.iter().map(|played| played.passed).collect();
        assert_eq!(passed, [true, true], "{:?}", found.played);
    }

    /// Laws want a way out of each mail but those that nobody can turn off.
    #[test]
    fn a_mail_without_a_way_out_is_refused_unless_it_is_critical() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("shop");
        run_init(&dir).unwrap();
        for file in ["mail/morning.mjml", "mail/morning.txt"] {
            let text = fs::read_to_string(dir.join(file)).unwrap();
            fs::write(dir.join(file), text.replace("{{ unsubscribe }}", "x")).unwrap();
        }
        let ask = check::CatalogueCheckRequest { only: Some("still".to_owned()), ..Default::default() };
        let Err(check::CatalogueCheckError::Problems(problems)) = check::check_catalogue(&dir, &ask) else {
            panic!("it is taken");
        };
        let said = problems.to_string();
        assert!(said.contains("morning.mjml") && said.contains("it has no `{{ unsubscribe }}`"), "{said}");
        let file = dir.join("catalogue.yaml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(
            &file,
            text.replace(
                "    to: {followers_of: author}\n",
                "    to: {followers_of: author}\n    critical: true\n",
            ),
        )
        .unwrap();
        let found = check::check_catalogue(&dir, &ask);
        assert!(found.is_ok(), "{found:?}");
    }

    #[test]
    fn every_file_of_the_scaffold_is_written() {
        fn collect_files(dir: &Path, below: &str, found: &mut Vec<String>) {
            for item in fs::read_dir(dir).unwrap() {
                let item = item.unwrap();
                let name = format!("{below}{}", item.file_name().to_str().unwrap());
                if item.path().is_dir() {
                    collect_files(&item.path(), &format!("{name}/"), found);
                } else {
                    found.push(name);
                }
            }
        }
        let mut found = Vec::new();
        collect_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffold"), "", &mut found);
        found.sort();
        let mut written = FILES.map(|(file, _)| file);
        written.sort_unstable();
        assert_eq!(found, written);
        assert!(FILES[0].1.contains(UNNAMED));
        let modeline = format!("# yaml-language-server: $schema={}\n", schema::FILE);
        assert!(FILES[0].1.starts_with(&modeline), "an editor finds the schema that is written beside it");
    }

    #[test]
    fn nothing_is_written_over() {
        let home = tempfile::tempdir().unwrap();
        let full = home.path().join("full");
        fs::create_dir(&full).unwrap();
        fs::write(full.join("mine"), "x").unwrap();
        for (dir, says) in [(full.clone(), "is not empty"), (full.join("mine"), "is a file")] {
            let refused = run_init(&dir).unwrap_err();
            assert_eq!(refused.exit_code(), 3, "{refused}");
            assert!(refused.to_string().contains(says), "{refused}");
        }
        assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
        // One that is there and empty will do.
        fs::create_dir(home.path().join("empty")).unwrap();
        run_init(&home.path().join("empty")).unwrap();
        for name in ["7days", "a b", "ü", "x:y", "No"] {
            let refused = run_init(&home.path().join(name)).unwrap_err();
            assert_eq!(refused.exit_code(), 2, "{name}: {refused}");
            assert!(!home.path().join(name).exists(), "{name}");
        }
    }
}
