//! A certificate authority made up for one cluster, with a certificate for its nodes and one for a client.

use std::{fs, path::Path, path::PathBuf, process::Command};

use anyhow::Result;

use crate::tools::run_command;

/// Of each certificate what the verifiers ask for: an authority is one, and the others are none.
const EXTENSIONS: &str = "\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
";

/// Paths of PEM files; keys are PKCS#8 without a password.
#[derive(Clone, Debug)]
pub struct TestCertificates {
    /// The authority, which a client has to trust.
    pub ca_pem: PathBuf,
    /// A client's certificate and key.
    pub client_pem: PathBuf,
    pub client_key: PathBuf,
    /// The key of the nodes and then their certificate, in one file as the engines want it.
    pub nodes_pem: PathBuf,
}

impl TestCertificates {
    /// Makes them, for nodes at these addresses.
    pub fn make(folder: &Path, hosts: &[&str]) -> Result<Self> {
        let path = |name: &str| folder.join(name);
        let names: Vec<String> = hosts.iter().map(|host| format!("IP:{host}")).collect();
        let names = format!("subjectAltName = {}\n", names.join(", "));
        fs::write(path("certificates.cnf"), format!("{EXTENSIONS}[node]\n{}{names}", leaf_section()))?;
        issue_certificate(folder, "ca", "authority")?;
        issue_certificate(folder, "nodes", "node")?;
        issue_certificate(folder, "client", "leaf")?;
        let both = fs::read_to_string(path("nodes.key"))? + &fs::read_to_string(path("nodes.pem"))?;
        fs::write(path("nodes-with-key.pem"), both)?;
        Ok(Self {
            ca_pem: path("ca.pem"),
            client_pem: path("client.pem"),
            client_key: path("client.key"),
            nodes_pem: path("nodes-with-key.pem"),
        })
    }
}

/// The lines of the section for leaves.
fn leaf_section() -> &'static str {
    EXTENSIONS.split_once("[leaf]\n").map_or("", |(_, lines)| lines)
}

fn issue_certificate(folder: &Path, name: &str, section: &str) -> Result<()> {
    let mut openssl = Command::new("openssl");
    openssl.current_dir(folder).args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
    ]);
    openssl.args(["-nodes", "-days", "30", "-config", "certificates.cnf", "-extensions", section]);
    openssl.args(["-subj", &format!("/CN=tidings-{name}")]);
    openssl.args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.pem")]);
    if name != "ca" {
        openssl.args(["-CA", "ca.pem", "-CAkey", "ca.key"]);
    }
    run_command(&mut openssl).map(drop)
}
