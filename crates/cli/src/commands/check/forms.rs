//! The messages of each plan in their forms: how heavy they are, and files to look at.

use std::{fs, path::Path};

use anyhow::Context as _;
use render::{FormSheet, MailForm, TrialFinding};
use serde_json::json;
use shell::{failure::CommandError, terminal};

use super::report_parts::{pluralise, problem_in_json};

/// What a plan's messages weigh, form by form.
pub fn describe_weights(plan: &str, sheets: &[FormSheet]) -> String {
    let mut own: Vec<&FormSheet> = sheets.iter().filter(|sheet| sheet.plan.as_str() == plan).collect();
    // Of several languages that of the most readers.
    let first = own.first().and_then(|sheet| sheet.language.clone());
    own.retain(|sheet| sheet.language == first);
    let things = |form| own.iter().find(|sheet| sheet.form == form).map(|sheet| sheet.things);
    let weights = own.iter().map(|sheet| {
        let bytes = sheet.html.as_ref().map_or(sheet.text.len(), String::len);
        let said = match sheet.form {
            MailForm::Twice if things(MailForm::Each) == Some(sheet.things) => " (one thing, as it is now)",
            MailForm::Twice => " (each by itself; `once_per: mail` makes them one)",
            MailForm::Full | MailForm::Least | MailForm::Each => "",
        };
        let (form, things) = (sheet.form.name(), pluralise(sheet.things, "thing"));
        format!("{form}: {things}, {}{said}", format_size(bytes))
    });
    weights.collect::<Vec<String>>().join("; ")
}

/// `38 KB`, as mailboxes count.
fn format_size(bytes: usize) -> String {
    if bytes < 1_000 { pluralise(bytes, "byte") } else { format!("{} KB", (bytes + 500) / 1_000) }
}

pub fn sheet_in_json(sheet: &FormSheet) -> serde_json::Value {
    let mut said = json!({
        "plan": sheet.plan.as_str(),
        "channel": sheet.channel.to_string(),
        "form": sheet.form.name(),
        "things": sheet.things,
        "headline": sheet.headline,
        "html_bytes": sheet.html.as_ref().map(String::len),
        "text_bytes": sheet.text.len(),
    });
    if let Some(language) = &sheet.language {
        said["language"] = json!(language);
    }
    said
}

/// A note on a message, with the plan and the form it was seen in.
pub fn finding_in_json(finding: &TrialFinding) -> serde_json::Value {
    let mut note = problem_in_json(&finding.problem);
    note["about"] = json!(finding.sort.name());
    note["plan"] = json!(finding.plan.as_str());
    note["form"] = json!(finding.form.name());
    note["bytes"] = json!(finding.bytes);
    note
}

/// Writes each message into a folder: its HTML, and its text.
pub fn write_sheets(folder: &Path, sheets: &[FormSheet]) -> Result<(), CommandError> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let mut files = 0;
    for sheet in sheets {
        let stem = file_stem(sheet);
        let text = format!("{}\n\n{}", sheet.headline, sheet.text);
        for (ending, content) in [("html", sheet.html.as_deref()), ("txt", Some(text.as_str()))] {
            let Some(content) = content else { continue };
            let file = folder.join(format!("{stem}.{ending}"));
            fs::write(&file, content).with_context(|| format!("write {}", file.display()))?;
            files += 1;
        }
    }
    terminal::print_talk(format!("{} in {}", pluralise(files, "file"), folder.display()));
    Ok(())
}

/// Names of plans have nothing that a file's name cannot have.
fn file_stem(sheet: &FormSheet) -> String {
    let language = sheet.language.as_ref().map(|language| format!("-{language}")).unwrap_or_default();
    format!("{}-{}{language}", sheet.plan, sheet.form.name().replace(' ', "-"))
}
