//! What `tidings size` prints is what the pages show, and what the values of the chart are.
//! `UPDATE_GOLDENS=1 cargo test -p tests --test docs sizes` writes all of it anew.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use tests::markdown::parse_fences;

const WRITE: &str = "UPDATE_GOLDENS";
const COMMAND: &str = "tidings size ";
const PAGES: [&str; 2] = ["docs/sizing.md", "docs/kubernetes.md"];
const VALUES: [&str; 3] = ["small", "medium", "large"];

#[test]
fn sizes_on_pages_are_what_the_program_prints() {
    for page in PAGES {
        let path = tests::scenarios::root().join(page);
        let text = fs::read_to_string(&path).unwrap();
        let fresh = renew_page(&text).unwrap();
        update_or_compare(&path, &text, &fresh);
    }
}

#[test]
fn sizes_of_the_chart_are_what_the_program_prints() {
    for name in VALUES {
        let path = tests::scenarios::root().join(format!("helm/tidings/values-{name}.yaml"));
        let text = fs::read_to_string(&path).unwrap();
        let command = text.split('`').nth(1).context("no command in its first lines").unwrap();
        let fresh = print_size(command).unwrap();
        update_or_compare(&path, &text, &fresh);
    }
}

fn update_or_compare(path: &Path, text: &str, fresh: &str) {
    if std::env::var_os(WRITE).is_some() {
        fs::write(path, fresh).unwrap();
    } else {
        assert_eq!(
            text,
            fresh,
            "{}: `{WRITE}=1 cargo test -p tests --test docs sizes` writes it",
            path.display()
        );
    }
}

/// The page with what the program prints now below each of its commands.
fn renew_page(page: &str) -> Result<String> {
    let fences = parse_fences(page)?;
    let mut fresh = page.to_owned();
    let mut count = 0;
    for pair in fences.windows(2) {
        let [(_, "sh", command), (line, "text", shown)] = pair else { continue };
        if let Some(command) = command.lines().next().filter(|command| command.starts_with(COMMAND)) {
            let fence = |text: &str| format!("```text\n{text}```\n");
            let (old, new) = (fence(shown), fence(&print_size(command)?));
            ensure!(fresh.contains(&old), "line {line}: no block of its own");
            fresh = fresh.replacen(&old, &new, 1);
            count += 1;
        }
    }
    ensure!(count > 0, "no command is followed by what it prints");
    Ok(fresh)
}

fn print_size(command: &str) -> Result<String> {
    let arguments = command.split_whitespace().skip(1);
    // A configuration of this machine has nothing to do with it.
    let output = Command::new(tests::binary()?).args(arguments).current_dir(std::env::temp_dir()).output()?;
    ensure!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
