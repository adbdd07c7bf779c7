//! Every command line of the documentation makes sense to the program as it is, also where nobody can run it here.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use clap::{CommandFactory as _, error::ErrorKind};
use cli::arguments::TidingsCli;
use tests::markdown::parse_fences;

/// What may stand before the program's name in a line: who runs it, and the fields of a line for cron.
const BEFORE: [&str; 6] = ["sudo", "exec", "env", "-u", "$", "then"];

#[test]
fn every_command_of_the_documentation_makes_sense() {
    let root = tests::scenarios::root();
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/how-to"] {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for (line, words, whole) in commands_of(&text).unwrap() {
            count += 1;
            let refused = find_refusal(&words, whole).map(|why| format!("{}:{line}: {why}", page.display()));
            wrong.extend(refused);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} commands were found");
    println!("{count} command lines");
}

/// The commands of a page with their lines, and whether each stands there as one would type it. In a sentence it may be cut
/// short, or have a word in capitals for something of one's own.
fn commands_of(page: &str) -> Result<Vec<(usize, Vec<String>, bool)>> {
    let mut found = Vec::new();
    for (line, info, text) in parse_fences(page)? {
        let typed = match info.split(' ').next() {
            Some("sh" | "ini") => text,
            // What somebody typed, among what was answered; or lines of a crontab.
            Some("" | "text") => text
                .lines()
                .filter(|line| line.starts_with("$ ") || line.starts_with(|c: char| c.is_ascii_digit()))
                .fold(String::new(), |all, line| all + line + "\n"),
            _ => continue,
        };
        found.extend(program_calls(&typed).into_iter().map(|words| (line, words, true)));
    }
    let mut fenced = false;
    for (number, line) in page.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        if let Some(typed) = line.strip_prefix("    ") {
            found.extend(program_calls(typed).into_iter().map(|words| (number + 1, words, true)));
        }
        let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("tidings "));
        found.extend(spans.flat_map(program_calls).map(|words| (number + 1, words, false)));
    }
    Ok(found)
}

/// Why the program would not take it.
fn find_refusal(words: &[String], whole: bool) -> Option<String> {
    let error = TidingsCli::command().try_get_matches_from(words).err()?;
    let known = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::InvalidValue
        | ErrorKind::ValueValidation
        | ErrorKind::TooFewValues => !whole,
        ErrorKind::InvalidSubcommand => {
            !whole && words.get(1).is_some_and(|word| *word == word.to_uppercase())
        }
        _ => false,
    };
    (!known).then(|| format!("{}: {}", words.join(" "), error.to_string().lines().next().unwrap_or_default()))
}

/// The calls of our program in some lines for a shell.
fn program_calls(text: &str) -> Vec<Vec<String>> {
    let parts = split_shell(text).into_iter().map(|words| {
        let is_user = |at: usize| at > 0 && words[at - 1] == "-u";
        let at = (0..words.len()).find(|at| !is_before(&words[*at]) && !is_user(*at))?;
        let (program, arguments) = words[at..].split_first()?;
        let program = program.strip_prefix("ExecStart=").unwrap_or(program);
        let is_ours = program == "tidings" || program.ends_with("/tidings");
        is_ours.then(|| [&["tidings".to_owned()], arguments].concat())
    });
    parts.flatten().collect()
}

fn is_before(word: &str) -> bool {
    let is_set = word.split_once('=').is_some_and(|(name, _)| {
        name != "ExecStart" && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    });
    let is_of_cron = word.bytes().all(|byte| byte.is_ascii_digit() || b"*/,-".contains(&byte));
    is_set || is_of_cron || BEFORE.contains(&word)
}

/// Simple commands as lists of words, as a shell would have them before it puts in any variable. Redirections are left out.
fn split_shell(text: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut letters = text.chars().peekable();
    let mut end = |words: &mut Vec<String>, word: &mut Option<String>| {
        words.extend(word.take());
        all.push(std::mem::take(words));
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                if let Some(next) = letters.next().filter(|next| *next != '\n') {
                    word.get_or_insert_default().push(next);
                }
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                while let Some(next) = letters.next().filter(|next| *next != letter) {
                    let next =
                        if next == '\\' && letter == '"' { letters.next().unwrap_or(next) } else { next };
                    word.push(next);
                }
            }
            '$' if letters.peek() == Some(&'(') => {
                let inner = letters.by_ref().take_while(|next| *next != ')').collect::<String>();
                word.get_or_insert_default().push_str(&format!("${inner})"));
            }
            '#' if word.is_none() => {
                letters.by_ref().find(|next| *next == '\n');
                end(&mut words, &mut word);
            }
            '>' | '<' => {
                // The number before and the file behind are no words of the command.
                word = None;
                while letters.next_if(|next| ">&< ".contains(*next)).is_some() {}
                while letters.next_if(|next| !" \n;|&".contains(*next)).is_some() {}
            }
            '\n' | ';' | '|' | '&' => end(&mut words, &mut word),
            ' ' => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    end(&mut words, &mut word);
    all.retain(|words| !words.is_empty());
    all
}

#[test]
fn a_misspelt_flag_is_found_wherever_it_stands() {
    let check = |page: &str, wrong: usize| {
        let found = commands_of(page).unwrap();
        let refused: Vec<String> =
            found.iter().filter_map(|(_, words, whole)| find_refusal(words, *whole)).collect();
        assert_eq!(refused.len(), wrong, "{page}: {found:?}: {refused:?}");
    };
    check("```sh\ntidings days ann --since 3d   # and more\n```", 0);
    check("```sh\ntidings days ann --sinse 3d\n```", 1);
    check("```sh elsewhere: why\nA=b sudo -u tidings /usr/bin/tidings upp && true\n```", 1);
    check("```sh\ntrue | tidings publish --file - > x; tidings daze ann 2>&1 | cat\n```", 1);
    check("```sh\ntidings person eve \\\n  name='Eve B' \\\n  --tennant x\n```", 1);
    check("```ini\nExecStart=/usr/local/bin/tidings run %i --listen 127.0.0.1:0\n```", 1);
    check(
        "```\n$ tidings days\nann --sinse\n20 4 * * *  tidings archive --before 16d --out $(date -u)\n```",
        1,
    );
    check("    tidings erase PERSON --dry-runn\n", 1);
    check("say `tidings quarantine` or `tidings run ROOM`, not `tidings qarantine`", 1);
    check("```sh\ncargo build --package tidings\nsystemctl stop tidings\n```", 0);
}

/// Every page can be found from the index.
#[test]
fn the_index_leads_to_every_page() {
    let docs = tests::scenarios::root().join("docs");
    let index = fs::read_to_string(docs.join("README.md")).unwrap();
    let pages = pages_below(&docs, Path::new("")).unwrap();
    assert!(pages.len() > 10, "only {pages:?}");
    let missing: Vec<String> =
        pages.into_iter().filter(|page| !index.contains(&format!("]({page})"))).collect();
    assert!(missing.is_empty(), "docs/README.md does not link {missing:?}");
    let readme = fs::read_to_string(docs.join("../README.md")).unwrap();
    assert!(readme.contains("](docs/README.md)"), "README.md does not link the index");
}

fn pages_below(docs: &Path, folder: &Path) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    for file in fs::read_dir(docs.join(folder))? {
        let file = file?;
        let name = folder.join(file.file_name());
        let shown = name.to_str().context("a name that is no text")?.to_owned();
        let is_page = shown.ends_with(".md") && shown != "README.md";
        // Decisions are linked as a folder; one of pictures has no pages.
        if file.file_type()?.is_dir() && shown != "decisions" {
            pages.extend(pages_below(docs, &name)?);
        } else if is_page {
            pages.push(shown);
        }
    }
    Ok(pages)
}
