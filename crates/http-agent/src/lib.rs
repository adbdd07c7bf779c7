//! How a process of ours asks another one over HTTP: whom it trusts, and what it never does.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use ureq::{
    Agent,
    tls::{PemItem, RootCerts, TlsConfig, parse_pem},
};

/// Whoever has not taken a connection by now is away.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// An agent whose requests take so long at most, with the certificate authorities of a PEM file, or those that browsers
/// trust. A status is an answer. No redirect is followed and no proxy of the environment used: what a request carries goes
/// to nobody but whom it is addressed to.
pub fn build_agent(ca: Option<&Path>, time_max: Duration) -> anyhow::Result<Agent> {
    let roots = ca.map_or(Ok(RootCerts::WebPki), read_authorities)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider).build();
    let config = Agent::config_builder()
        .timeout_global(Some(time_max))
        .timeout_connect(Some(CONNECT_TIME_MAX))
        .http_status_as_error(false)
        .proxy(None)
        .max_redirects(0)
        .tls_config(tls);
    Ok(config.build().into())
}

fn read_authorities(path: &Path) -> anyhow::Result<RootCerts> {
    let pem = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let certificates = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    ensure!(!certificates.is_empty(), "there is no certificate in {}", path.display());
    Ok(RootCerts::from(certificates))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use super::*;

    #[test]
    fn authorities_that_are_none_are_refused_with_their_path() {
        let dir = tempfile::tempdir().unwrap();
        let check = |name: &str, text: Option<&str>, expected: &str| {
            let path = dir.path().join(name);
            if let Some(text) = text {
                fs::write(&path, text).unwrap();
            }
            let said = build_agent(Some(&path), CONNECT_TIME_MAX).map_err(|error| format!("{error:#}"));
            let said = said.err().unwrap_or_default().replace(&path.display().to_string(), "PATH");
            assert!(said.starts_with(expected) && said.is_empty() == expected.is_empty(), "{name}: {said}");
        };
        let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (certificate, secret) = (key.cert.pem(), key.signing_key.serialize_pem());
        check("ca.pem", Some(&certificate), "");
        check("both.pem", Some(&format!("{secret}{certificate}")), "");
        check("key.pem", Some(&secret), "there is no certificate in PATH");
        check("text", Some("nothing"), "there is no certificate in PATH");
        check("empty", Some(""), "there is no certificate in PATH");
        check("gone", None, "read PATH: ");
    }

    #[test]
    fn an_answer_is_an_answer_and_nobody_is_sent_elsewhere() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let answers = thread::spawn(move || {
            for answer in ["302 Found\r\nlocation: http://127.0.0.1:1/", "503 Away"] {
                let (mut stream, _) = listener.accept().unwrap();
                let _read = stream.read(&mut [0; 4_096]).unwrap();
                let head = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).unwrap();
            }
        });
        let agent = build_agent(None, CONNECT_TIME_MAX).unwrap();
        let statuses = [(); 2].map(|()| agent.get(&url).call().unwrap().status().as_u16());
        assert_eq!(statuses, [302, 503]);
        answers.join().unwrap();
    }
}
