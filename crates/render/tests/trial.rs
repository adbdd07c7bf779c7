//! The examples as their readers would see them: nothing in them is odd, and the fullest mail is shown to its end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use catalogue::Catalogue;
use render::{MailForm, MessageRenderer, TrialRun, told_example};

/// Gmail cuts at 102 KB.
const HTML_BYTES_MAX: usize = 100_000;

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every folder with a catalogue, below this one.
fn find_catalogues(below: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![workspace_root().join(below)];
    while let Some(dir) = open.pop() {
        if dir.join("catalogue.yaml").is_file() {
            found.push(dir.clone());
        }
        open.extend(
            fs::read_dir(&dir).unwrap().map(|item| item.unwrap().path()).filter(|path| path.is_dir()),
        );
    }
    found.sort();
    found
}

fn run_trial(dir: &Path) -> TrialRun {
    let catalogue =
        Catalogue::load(dir, model::DayLife::default()).unwrap_or_else(|problems| panic!("{problems}"));
    MessageRenderer::run_trial(&catalogue).unwrap_or_else(|problems| panic!("{}: {problems}", dir.display()))
}

#[test]
fn the_examples_have_nothing_odd_and_no_mail_is_cut_off() {
    let mut odd = Vec::new();
    let dirs = find_catalogues("examples");
    assert!(dirs.len() > 5, "{dirs:?}");
    for dir in dirs {
        let found = run_trial(&dir);
        odd.extend(found.findings.iter().map(|finding| finding.problem.to_string()));
        for sheet in found.sheets.iter().filter(|sheet| sheet.form == MailForm::Full) {
            let bytes = sheet.html.as_ref().map_or(0, String::len);
            if bytes > HTML_BYTES_MAX {
                odd.push(format!("{}: {} has {bytes} bytes", dir.display(), sheet.plan));
            }
        }
    }
    assert!(odd.is_empty(), "{} notes\n{}", odd.len(), odd.join("\n"));
}

#[test]
fn every_plan_has_every_form() {
    let found = run_trial(&workspace_root().join("examples/gallery"));
    let weekly = found.sheets.iter().filter(|sheet| sheet.plan.as_str() == "weekly_mail");
    let forms: Vec<_> = weekly.map(|sheet| (sheet.form, sheet.things)).collect();
    let each = [(MailForm::Full, 42), (MailForm::Least, 1), (MailForm::Each, 5), (MailForm::Twice, 5)];
    // In both of its languages.
    let expected: Vec<_> = each.into_iter().flat_map(|form| [form, form]).collect();
    assert_eq!(forms, expected, "a subject is said once, so two events of it are one thing");
}

#[test]
fn what_is_made_up_is_told_and_stays_so_with_the_least() {
    for dir in find_catalogues("examples").into_iter().chain(find_catalogues("tests/catalogues")) {
        let catalogue =
            Catalogue::load(&dir, model::DayLife::default()).unwrap_or_else(|problems| panic!("{problems}"));
        for kind in catalogue.kinds.values() {
            for number in [1, 2, 60] {
                let made = told_example(&catalogue, kind, number).unwrap();
                let least = made.reduce_to_least(kind);
                let what = format!("{}: {} {number}", dir.display(), kind.name);
                assert!(made.is_told(kind) && least.is_told(kind), "{what}: {made:?}");
                // Nothing more can be left out.
                let fields = least.fields();
                let over = fields
                    .iter()
                    .find(|(of, field)| least.without_field(kind, field, of.as_deref()).is_some());
                assert_eq!(over, None, "{what}");
            }
        }
    }
}
