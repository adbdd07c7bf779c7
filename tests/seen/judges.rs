//! Programs of others that say what they think of a mail: dkimpy, SpamAssassin, linters, and a browser.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use engines::{node, python};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// What has to stand in the DNS, among what [`make_keys`] makes.
const DNS: &str = "dns.json";

/// Makes keys of both kinds for a domain, and notes what has to stand in the DNS; the folder that they lie in.
pub fn make_keys(domain: &str, folder: &Path) -> Result<String> {
    let keys = folder.join("keys");
    let mut dns = BTreeMap::new();
    for kind in ["rsa", "ed25519"] {
        let mut make = Command::new(tests::binary()?);
        make.args(["--json", "dkim", "new", domain, "--kind", kind, "--folder"]).arg(&keys);
        let made: Value = run_json(make.current_dir(folder))?;
        dns.extend(dns_records(&made).context("the records of the keys")?);
    }
    fs::write(folder.join(DNS), serde_json::to_vec(&dns)?)?;
    Ok(keys.display().to_string())
}

/// Names and texts of what has to stand in the DNS.
fn dns_records(made: &Value) -> Option<Vec<(String, String)>> {
    let one = |key: &Value| Some((key["name"].as_str()?.to_owned(), key["record"].as_str()?.to_owned()));
    made.as_array()?.iter().map(one).collect()
}

/// For each signature of a mail the selector and whether dkimpy finds that it holds, by the DNS of this folder.
pub fn check_signatures(mail: &Path, folder: &Path) -> Result<BTreeMap<String, bool>> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/dkim_verify.py");
    run_json(Command::new(python()?).args([&program, mail, &folder.join(DNS)]))
}

/// Points of SpamAssassin from which on somebody has to look; from 5 on it is spam.
pub const POINTS_MAX: f64 = 2.0;

/// What SpamAssassin says of a mail without asking anybody: its points, and the rules that gave them.
pub fn spam_points(mail: &Path) -> Result<(f64, String)> {
    let mut command = Command::new("spamassassin");
    let output =
        command.args(["--local", "--nocreate-prefs", "--test-mode"]).stdin(fs::File::open(mail)?).output();
    let output = output.context("spamassassin is missing: `setup/prepare.sh test` installs it")?;
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n").replace("\n\t", " ");
    let status = text.lines().find_map(|line| line.strip_prefix("X-Spam-Status: "));
    let status = status.with_context(|| format!("no status: {}", String::from_utf8_lossy(&output.stderr)))?;
    let score = status.split_whitespace().find_map(|word| word.strip_prefix("score="));
    Ok((score.context("no score")?.parse()?, status.to_owned()))
}

/// What linters find wrong, by file.
pub fn lint_files(files: &[PathBuf]) -> Result<BTreeMap<String, Vec<String>>> {
    run_json(node("mail_lint.cjs")?.args(files))
}

/// A page at one width, by day or by night, as Chromium has it.
#[derive(Debug, Deserialize)]
pub struct PageLook {
    pub name: String,
    pub width: u32,
    pub scheme: String,
    /// How much wider it is than the screen.
    pub overflow: i64,
    /// How light its ground is, from 0 to 1.
    pub ground: f64,
    pub texts: Vec<LookText>,
    pub links: Vec<Option<String>>,
    pub images: Vec<LookImage>,
    /// Elements that have no place in a mail.
    pub strange: Vec<String>,
    /// What stands in it and is not shown: the line beside the headline.
    pub preview: String,
    pub schemes: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct LookText {
    pub text: String,
    /// Of its colour and what is behind it, as WCAG counts.
    pub contrast: f64,
    /// Colour, size, font and the like.
    pub look: String,
}

#[derive(Debug, Deserialize)]
pub struct LookImage {
    pub alt: Option<String>,
    pub width: Option<String>,
    pub wide: i64,
}

/// What pages look like at some widths, by day and by night. `TIDINGS_PICTURES` names a folder for pictures of all.
pub fn draw_looks(files: &[PathBuf], widths: &[u32]) -> Result<Vec<PageLook>> {
    let widths: Vec<String> = widths.iter().map(ToString::to_string).collect();
    let pictures = std::env::var_os("TIDINGS_PICTURES").unwrap_or_else(|| "-".into());
    run_json(node("look.cjs")?.arg(widths.join(",")).arg(pictures).args(files))
}

/// The JSON that a program prints.
pub fn run_json<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output()?;
    ensure!(status.success(), "{status}: {}", String::from_utf8_lossy(&stderr));
    let said: Value = serde_json::from_slice(&stdout).context("what it said")?;
    Ok(serde_json::from_value(said)?)
}
