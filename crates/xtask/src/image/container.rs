//! The settings of the container: who runs what, and how one asks whether it is well.

use serde_json::{Value, json};

use super::{CERTIFICATES, DATA, ImageSource, PROGRAM, USER};

/// The port of page and HTTP.
const PORT: &str = "7280/tcp";

pub fn describe_container(source: &ImageSource) -> Value {
    let program = format!("/{PROGRAM}");
    json!({
        "User": format!("{USER}:{USER}"),
        "Env": [
            "PATH=/usr/local/bin",
            format!("SSL_CERT_FILE=/{CERTIFICATES}"),
            format!("TIDINGS_DATA_DIR=/{DATA}"),
        ],
        "Entrypoint": [program],
        "Cmd": ["--help"],
        "WorkingDir": format!("/{DATA}"),
        "ExposedPorts": {PORT: {}},
        "StopSignal": "SIGTERM",
        "Labels": describe_source(source),
        // Engines of Docker's kind read it; Kubernetes has probes of its own.
        "Healthcheck": {
            "Test": ["CMD", program, "health"],
            "Interval": 10_000_000_000_u64,
            "Timeout": 6_000_000_000_u64,
            "StartPeriod": 60_000_000_000_u64,
            "Retries": 3,
        },
    })
}

/// What the image is and of which commit, as registries show it.
pub fn describe_source(source: &ImageSource) -> Value {
    json!({
        "org.opencontainers.image.title": "tidings",
        "org.opencontainers.image.description": "Gathers change events into one good mail or push for each person",
        "org.opencontainers.image.version": source.version,
        "org.opencontainers.image.revision": source.revision,
        "org.opencontainers.image.created": source.created,
        "org.opencontainers.image.licenses": "Apache-2.0",
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// The instructions of the last stage, with what each says; a line that goes on is one.
    fn last_stage(text: &str) -> Vec<(String, String)> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let joined = lines.join("\n").replace("\\\n", " ");
        let instructions: Vec<(String, String)> = joined
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(word, rest)| (word.to_owned(), rest.split_whitespace().collect::<Vec<_>>().join(" ")))
            .collect();
        let start = instructions.iter().rposition(|(word, _)| word == "FROM").unwrap();
        instructions[start..].to_vec()
    }

    /// `NAME=value` pairs, of which values may stand in quotes.
    fn pairs(text: &str) -> Value {
        let mut rest = text;
        let mut found = serde_json::Map::new();
        while let Some((name, more)) = rest.split_once('=') {
            let (value, after) = match more.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap(),
                None => more.split_once(' ').unwrap_or((more, "")),
            };
            found.insert(name.trim().to_owned(), json!(value));
            rest = after;
        }
        Value::Object(found)
    }

    #[test]
    fn the_containerfile_says_the_same() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(root.join("Containerfile")).unwrap();
        let stage = last_stage(&text);
        let said = |word: &str| -> Vec<&str> {
            stage.iter().filter(|(found, _)| found == word).map(|(_, rest)| rest.as_str()).collect()
        };
        let source = ImageSource {
            version: "$VERSION".to_owned(),
            revision: "$REVISION".to_owned(),
            seconds: 0,
            created: "$CREATED".to_owned(),
        };
        let expect = describe_container(&source);
        assert_eq!(said("FROM"), ["scratch"]);
        assert_eq!(said("USER"), [expect["User"].as_str().unwrap()]);
        assert_eq!(said("WORKDIR"), [expect["WorkingDir"].as_str().unwrap()]);
        assert_eq!(said("STOPSIGNAL"), [expect["StopSignal"].as_str().unwrap()]);
        assert_eq!(said("EXPOSE"), [PORT]);
        let list = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(list(said("ENTRYPOINT")[0]), expect["Entrypoint"]);
        assert_eq!(list(said("CMD")[0]), expect["Cmd"]);
        assert_eq!(pairs(said("LABEL")[0]), expect["Labels"]);
        let environment = expect["Env"].as_array().unwrap().iter().filter_map(Value::as_str);
        assert_eq!(pairs(said("ENV")[0]), pairs(&environment.collect::<Vec<_>>().join(" ")));
        let health = &expect["Healthcheck"];
        let seconds = |name: &str| health[name].as_u64().unwrap() / 1_000_000_000;
        let test =
            serde_json::to_string(&health["Test"].as_array().unwrap()[1..]).unwrap().replace(',', ", ");
        let health = format!(
            "--interval={}s --timeout={}s --start-period={}s --retries={} CMD {test}",
            seconds("Interval"),
            seconds("Timeout"),
            seconds("StartPeriod"),
            health["Retries"]
        );
        assert_eq!(said("HEALTHCHECK"), [health]);
        // What is the user's own comes apart from all that is root's.
        assert_eq!(
            said("COPY"),
            [
                "--from=build /files/ /".to_owned(),
                format!("--from=build --chown={USER}:{USER} /data/ /var/lib/")
            ]
        );
        assert!(text.contains(&format!("mv /files/{DATA} /data\n")));
        let toolchain = fs::read_to_string(root.join("rust-toolchain.toml")).unwrap();
        let version = toolchain.split('"').nth(1).unwrap();
        assert!(
            text.contains(&format!("/rust:{version}-bookworm AS build\n")),
            "it builds with Rust {version}"
        );
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(said("ARG"), [&format!("VERSION={version}"), "REVISION", "CREATED"]);
    }
}
