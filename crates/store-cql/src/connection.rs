//! Sessions of the driver: addresses, login, encryption.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use scylla::{
    client::{execution_profile::ExecutionProfile, session::Session, session_builder::SessionBuilder},
    statement::{Consistency, SerialConsistency},
};
use secrecy::ExposeSecret as _;
use store::StoreError;

use crate::{
    errors::CqlError,
    settings::{CqlTls, Settings},
};

/// As a keyspace's name is put into statements, it has to be a plain word; the journal's is longer.
const KEYSPACE_BYTES_MAX: usize = 40;

/// A session as the store has it, with nothing of ours around it: for whoever measures what we add.
pub async fn open_session(settings: &Settings) -> Result<Session, StoreError> {
    connect(settings).await.map_err(|trouble| trouble.into_store_error("connecting to the cluster"))
}

/// Boxed: what the driver keeps while it connects would fill the stack of whoever waits for it.
pub(crate) fn connect(settings: &Settings) -> BoxFuture<'_, Result<Session, CqlError>> {
    connect_session(settings).boxed()
}

async fn connect_session(settings: &Settings) -> Result<Session, CqlError> {
    let name = &settings.keyspace;
    let is_word = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    if !is_word || name.len() > KEYSPACE_BYTES_MAX {
        return Err(CqlError::hopeless(format!(
            "`{name}` is not a keyspace: it must have a-z, 0-9 and _, begin with a letter and have at most \
            {KEYSPACE_BYTES_MAX} characters"
        )));
    }
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::LocalQuorum)
        .serial_consistency(Some(SerialConsistency::LocalSerial))
        .request_timeout(Some(settings.timeout))
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&settings.contact_points)
        .keyspaces_to_fetch([settings.keyspace.clone(), settings.journal_keyspace()])
        .connection_timeout(settings.timeout)
        // Of changes to the schema: nobody here asks the driver what they changed.
        .schema_agreement_interval(Duration::from_millis(20))
        .refresh_metadata_on_auto_schema_agreement(false)
        .default_execution_profile_handle(profile.into_handle());
    if let Some(datacenter) = &settings.datacenter {
        builder = builder.prefer_datacenter(datacenter.clone());
    }
    if let Some(login) = &settings.login {
        builder = builder.user(&login.user, login.password.expose_secret());
    }
    if let Some(tls) = &settings.tls {
        let config = tls_client_config(tls).map_err(|error| CqlError::hopeless(format!("tls: {error:#}")))?;
        builder = builder.tls_context(Some(Arc::new(config)));
    }
    let session = builder.build().await?;
    check_datacenter(&session, settings)?;
    Ok(session)
}

/// A quorum is counted in our data centre, so it has to be known which that is.
fn check_datacenter(session: &Session, settings: &Settings) -> Result<(), CqlError> {
    let there = datacenters(session);
    let names = || there.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    match &settings.datacenter {
        Some(ours) if !there.iter().any(|(name, _)| name == ours) => {
            Err(CqlError::hopeless(format!("the cluster has no data centre `{ours}`; it has {}", names())))
        }
        None if there.len() > 1 => Err(CqlError::hopeless(format!(
            "the cluster has the data centres {}: set `cql.datacenter` to the one of this house",
            names()
        ))),
        Some(_) | None => Ok(()),
    }
}

/// The data centres by name, with their numbers of nodes.
pub(crate) fn datacenters(session: &Session) -> Vec<(String, usize)> {
    let mut counted = std::collections::BTreeMap::<String, usize>::new();
    for node in session.get_cluster_state().get_nodes_info() {
        *counted.entry(node.datacenter.clone().unwrap_or_default()).or_default() += 1;
    }
    counted.into_iter().collect()
}

/// Only ScyllaDB tells of its shards.
pub(crate) fn is_scylla(session: &Session) -> bool {
    session.get_cluster_state().get_nodes_info().iter().any(|node| node.sharder().is_some())
}

fn tls_client_config(tls: &CqlTls) -> anyhow::Result<ClientConfig> {
    use anyhow::Context as _;
    let certificates = |path: &std::path::Path| {
        CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .with_context(|| format!("read the certificates in {}", path.display()))
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&tls.ca)? {
        roots.add(certificate).with_context(|| format!("trust {}", tls.ca.display()))?;
    }
    anyhow::ensure!(!roots.is_empty(), "no certificate in {}", tls.ca.display());
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    match (&tls.certificate, &tls.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let read = PrivateKeyDer::from_pem_file(key)
                .with_context(|| format!("read the key in {}", key.display()))?;
            Ok(builder.with_client_auth_cert(certificates(certificate)?, read)?)
        }
        _ => anyhow::bail!("certificate and key must both be set"),
    }
}
