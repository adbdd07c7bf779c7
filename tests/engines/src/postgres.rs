//! PostgreSQL, whose changes others may read.

use std::{env, fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    network::LoopbackNetwork,
    node::{EngineNode, node_folder},
    tools::run_command,
};

const INSTALL: &str = "initdb is missing: apt-get install postgresql, or `make setup`";
/// Where Debian has a version's programs.
const DEBIAN: &str = "/usr/lib/postgresql";

pub struct PostgresServer {
    host: String,
    port: u16,
    _node: EngineNode,
    _network: LoopbackNetwork,
}

impl PostgresServer {
    /// Starts a cluster with logical replication, which anybody on this machine may enter, and waits until it is ready.
    pub fn start() -> Result<Self> {
        let programs = find_programs()?;
        let network = LoopbackNetwork::claim()?;
        let (host, port) = (network.host(0), network.port(5432)?);
        let folder = node_folder("postgres")?;
        let data = folder.path().join("data");
        fs::create_dir(&data)?;
        // It refuses to run for root.
        let before: &[&str] = if is_root()? {
            run_command(Command::new("chown").arg("-R").arg("postgres:").arg(folder.path()))?;
            &["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        } else {
            &[]
        };
        let command = |program: &str| {
            let own = programs.join(program).into_os_string();
            before.iter().map(Into::into).chain([own]).collect::<Vec<std::ffi::OsString>>()
        };
        let initdb = command("initdb");
        let (program, more) = initdb.split_first().context("no program")?;
        run_command(
            Command::new(program)
                .args(more)
                .args([
                    "--auth=trust",
                    "--username=postgres",
                    "--no-sync",
                    "--encoding=UTF8",
                    "--locale=C",
                    "-D",
                ])
                .arg(&data)
                .current_dir(folder.path()),
        )?;
        let mut server = command("postgres");
        server.extend(["-D".into(), data.into(), "-h".into(), host.clone().into()]);
        server.extend(["-p".into(), port.to_string().into(), "-k".into(), folder.path().into()]);
        for setting in ["wal_level=logical", "fsync=off"] {
            server.extend(["-c".into(), setting.into()]);
        }
        let node = EngineNode::new(folder, server, "database system is ready to accept connections")?
            .listening_at(format!("{host}:{port}"));
        node.start()?;
        node.wait_ready().context("cannot start PostgreSQL")?;
        Ok(Self { host, port, _node: node, _network: network })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

/// The newest version's programs: those on the path, else Debian's.
fn find_programs() -> Result<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&paths).find(|folder| folder.join("initdb").exists());
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().filter_map(|file| file.ok());
    let debian =
        versions.map(|version| version.path().join("bin")).filter(|path| path.join("initdb").exists());
    on_path.or_else(|| debian.max()).context(INSTALL)
}

fn is_root() -> Result<bool> {
    Ok(run_command(Command::new("id").arg("-u"))?.trim() == "0")
}
