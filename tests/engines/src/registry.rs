//! Apicurio Registry, which speaks the API of Confluent's.

use std::{ffi::OsString, fs};

use anyhow::{Context, Result};

use crate::{
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools::{self, REGISTRY},
};

pub struct ApicurioRegistry {
    url: String,
    node: EngineNode,
    _network: LoopbackNetwork,
}

impl ApicurioRegistry {
    /// Starts a registry and waits until it is ready.
    pub fn start() -> Result<Self> {
        let network = LoopbackNetwork::claim()?;
        let (host, port) = (network.host(0), network.port(8081)?);
        let folder = node_folder("registry")?;
        let mut command: Vec<OsString> = vec![tools::find_java()?.0.into(), "-Xmx512m".into()];
        command.push("-XX:TieredStopAtLevel=1".into());
        command.push(format!("-Dquarkus.http.host={host}").into());
        command.push(format!("-Dquarkus.http.port={port}").into());
        let file = format!("jdbc:h2:file:{};WRITE_DELAY=0", folder.path().join("schemas").display());
        command.push(format!("-DREGISTRY_DATASOURCE_URL={file}").into());
        command.extend(["-jar".into(), find_runner()?]);
        let node = EngineNode::new(folder, command, "")?;
        let registry = Self { url: format!("http://{host}:{port}/apis/ccompat/v7"), _network: network, node };
        registry.start_again().context("cannot start the registry")?;
        Ok(registry)
    }

    /// The root of Confluent's API.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it without a warning. Its schemas stay.
    pub fn stop(&self) -> Result<()> {
        self.node.kill()
    }

    pub fn start_again(&self) -> Result<()> {
        self.node.start()?;
        self.node.wait_for(|| registry_answers(&self.url))
    }
}

/// Whether a registry answers.
pub fn registry_answers(url: &str) -> bool {
    ureq::get(format!("{url}/subjects")).call().is_ok()
}

fn find_runner() -> Result<OsString> {
    let files = fs::read_dir(REGISTRY.folder()?)?.filter_map(|file| file.ok());
    let runner = files.map(|file| file.path()).find(|path| path.to_string_lossy().ends_with("-runner.jar"));
    Ok(runner.context("the registry's archive has no runner")?.into())
}
