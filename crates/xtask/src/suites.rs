//! The test binaries of the workspace: built once for all stages, then known by package and target.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::shell::{self, WorkspaceRoot};

/// A built test binary, and where it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestSuite {
    pub package: String,
    /// The test target, or the sort of what has its tests within: `lib`, `bin`.
    pub target: String,
    /// The package's folder, in which cargo would run it.
    pub folder: PathBuf,
    pub binary: PathBuf,
}

impl TestSuite {
    /// Whether its tests are those that a crate's own sources have.
    pub fn is_within_a_crate(&self) -> bool {
        ["lib", "bin"].contains(&self.target.as_str())
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// Builds all targets, as every stage needs them, and says which of them are tests. All targets, as the tests are
/// built: with fewer, dependencies would be built with fewer features, and twice.
pub fn build_suites(house: &WorkspaceRoot) -> Result<Vec<TestSuite>> {
    let arguments = ["build", "--all-targets", "--message-format", "json-render-diagnostics"];
    let mut suites = BTreeMap::new();
    let built = shell::run_listening(&mut house.cargo(&shell::workspace_arguments(&arguments)), |line| {
        let suite = read_message(line);
        suites.extend(suite.map(|suite| ((suite.package.clone(), suite.target.clone()), suite)));
    })?;
    ensure!(built.succeeded, "the workspace does not build");
    Ok(suites.into_values().collect())
}

/// The test binary that a message of cargo tells of.
fn read_message(line: &str) -> Option<TestSuite> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let binary = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let target = &message["target"];
    let kind = target["kind"][0].as_str()?;
    let name = if kind == "test" { target["name"].as_str()? } else { kind };
    Some(TestSuite {
        package: folder.file_name()?.to_str()?.to_owned(),
        target: name.to_owned(),
        folder: folder.to_owned(),
        binary: binary.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_found_in_what_cargo_says() {
        let check = |line: &str, expect: Option<&str>| {
            let told = read_message(line).map(|suite| {
                let TestSuite { package, target, folder, binary } = suite;
                format!("{package} {target} {} {}", folder.display(), binary.display())
            });
            assert_eq!(told.as_deref(), expect, "{line}");
        };
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/r/tests/Cargo.toml",
            "target":{"kind":["test"],"name":"laws"},"profile":{"test":true},"executable":"/r/t/x"}"#;
        check(line, Some("tests laws /r/tests /r/t/x"));
        check(&line.replace(r#""test"],"#, r#""lib"],"#), Some("tests lib /r/tests /r/t/x"));
        check(&line.replace("true", "false"), None);
        check(&line.replace(r#""/r/t/x""#, "null"), None);
        check(&line.replace("compiler-artifact", "build-script-executed"), None);
        check("no message", None);
    }
}
