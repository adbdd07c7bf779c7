//! What is generated from tables of the program and checked in: reference pages, and the schema of a catalogue.
//! `UPDATE_GOLDENS=1 cargo test -p tests --test docs generated` writes all of it anew.

use std::{fs, path::Path};

const WRITE: &str = "UPDATE_GOLDENS";

#[test]
fn generated_files_are_what_the_program_says() {
    let root = tests::scenarios::root();
    let files = [
        ("docs/reference/configuration.md", settings::config::reference::reference_page()),
        ("docs/reference/catalogue.md", catalogue::reference::reference_page()),
        ("docs/reference/metrics.md", lifecycle::metrics_reference::reference_page().unwrap()),
        ("schemas/catalogue.schema.json", catalogue::schema::write_schema()),
    ];
    let mut stale = Vec::new();
    for (file, text) in files {
        let path = root.join(file);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        if std::env::var_os(WRITE).is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        } else {
            stale.push(file);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} differ; `{WRITE}=1 cargo test -p tests --test docs generated` writes them anew"
    );
}

/// The first line of each example leads an editor to the schema.
#[test]
fn generated_schema_is_found_from_every_example() {
    let root = tests::scenarios::root();
    let schema = root.join("schemas/catalogue.schema.json").canonicalize().unwrap();
    let mut count = 0;
    let mut folders = vec![root.join("examples")];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path()) {
            if item.is_dir() {
                folders.push(item);
            } else if item.ends_with("catalogue.yaml") {
                let text = fs::read_to_string(&item).unwrap();
                assert_eq!(leads_to(&folder, &text), Some(schema.clone()), "{}", item.display());
                count += 1;
            }
        }
    }
    assert!(count > 10, "only {count} examples");
    // Beside what the README shows lies what `tidings init` writes.
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let line = format!("```yaml\n# yaml-language-server: $schema={}\n", catalogue::schema::FILE);
    assert!(readme.contains(&line), "the catalogue of the README has no schema");
}

fn leads_to(folder: &Path, text: &str) -> Option<std::path::PathBuf> {
    let path = text.lines().next()?.strip_prefix("# yaml-language-server: $schema=")?;
    folder.join(path).canonicalize().ok()
}
