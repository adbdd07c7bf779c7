//! `cargo xtask image`: the program as a container image, put together without a container engine.
//!
//! The image is an OCI layout: a folder of blobs, each named by its digest, that every registry and engine reads. In it are
//! the program, linked statically, certificate authorities and time zones; no shell and no package manager. The same commit
//! gives the same digests, for nothing in it depends on when or where it was made.

mod bill;
mod files;
mod layout;
mod program;

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::shell::WorkspaceRoot;
use layout::{BlobDescriptor, ImageLayout};

/// The user of the process. Nobody else has it, and Kubernetes' level `restricted` takes it.
pub const USER: u64 = 65_532;
/// Where the program is in the image.
const PROGRAM: &str = "usr/local/bin/tidings";
const DATA: &str = "var/lib/tidings";
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
const ZONES: &str = "usr/share/zoneinfo";

/// What an image is made from, and where.
pub struct ImageRequest {
    pub out: PathBuf,
    /// A program that is there already; it is built otherwise.
    pub program: Option<PathBuf>,
}

/// Which commit it is of.
struct ImageSource {
    version: String,
    revision: String,
    /// In seconds; everything in the image is of this instant.
    seconds: u64,
    /// The same as RFC 3339.
    created: String,
}

/// Makes the image, and prints its digest.
pub fn make_image(house: &WorkspaceRoot, asked: &ImageRequest) -> Result<()> {
    let metadata = house.metadata(Some(program::TARGET))?;
    let source = ImageSource::read(house, &metadata)?;
    let program = match &asked.program {
        Some(program) => program.clone(),
        None => program::build_program(house)?,
    };
    let bytes = fs::read(&program).with_context(|| format!("read {}", program.display()))?;
    let architecture = program::check_static(&bytes).with_context(|| program.display().to_string())?;
    let layer = files::pack_layer(&bytes, source.seconds)?;
    let bill =
        serde_json::to_vec_pretty(&bill::list_components(&metadata, &source.version, &source.created)?)?;
    let mut image = ImageLayout::begin(&asked.out)?;
    let manifest = write_manifest(&mut image, &layer, &source, architecture)?;
    attach_bill(&mut image, &manifest, &bill)?;
    image.finish(&manifest, &source.version)?;
    fs::write(asked.out.join("bill-of-materials.cdx.json"), &bill)?;
    println!("{}  {} bytes", asked.out.display(), manifest.size + layer.packed.len() as u64);
    println!("{}", manifest.digest);
    Ok(())
}

impl ImageSource {
    fn read(house: &WorkspaceRoot, metadata: &Value) -> Result<Self> {
        let git = |arguments: &[&str]| -> Result<String> {
            let output = Command::new("git")
                .args(arguments)
                .current_dir(&house.root)
                .env("TZ", "UTC")
                .output()
                .context("git")?;
            ensure!(output.status.success(), "git {arguments:?} failed: is this a repository with a commit?");
            Ok(String::from_utf8(output.stdout)?.trim().to_owned())
        };
        let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
        let own =
            packages.iter().find(|package| package["name"] == "tidings").context("no package tidings")?;
        Ok(Self {
            version: own["version"].as_str().unwrap_or_default().to_owned(),
            revision: git(&["rev-parse", "HEAD"])?,
            seconds: git(&["show", "--no-patch", "--format=%ct", "HEAD"])?.parse()?,
            created: git(&[
                "show",
                "--no-patch",
                "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
                "--format=%cd",
                "HEAD",
            ])?,
        })
    }
}

/// The settings of the container and the manifest that names them beside the layer.
fn write_manifest(
    image: &mut ImageLayout,
    layer: &files::PackedLayer,
    source: &ImageSource,
    architecture: &str,
) -> Result<BlobDescriptor> {
    let annotations = json!({
        "org.opencontainers.image.title": "tidings",
        "org.opencontainers.image.description": "Gathers change events into one good mail or push for each person",
        "org.opencontainers.image.version": source.version,
        "org.opencontainers.image.revision": source.revision,
        "org.opencontainers.image.created": source.created,
        "org.opencontainers.image.licenses": "Apache-2.0",
    });
    let program = format!("/{PROGRAM}");
    let settings = json!({
        "created": source.created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": [
                "PATH=/usr/local/bin",
                format!("SSL_CERT_FILE=/{CERTIFICATES}"),
                format!("TIDINGS_DATA_DIR=/{DATA}"),
            ],
            "Entrypoint": [program],
            "Cmd": ["--help"],
            "WorkingDir": format!("/{DATA}"),
            "ExposedPorts": {"7280/tcp": {}},
            "StopSignal": "SIGTERM",
            "Labels": annotations,
            // Engines of Docker's kind read it; Kubernetes has probes of its own.
            "Healthcheck": {
                "Test": ["CMD", program, "health"],
                "Interval": 10_000_000_000_u64,
                "Timeout": 6_000_000_000_u64,
                "StartPeriod": 60_000_000_000_u64,
                "Retries": 3,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.unpacked_digest]},
        "history": [{"created": source.created, "created_by": "cargo xtask image"}],
    });
    let settings = image.add_json("application/vnd.oci.image.config.v1+json", &settings)?;
    let packed = image.add_blob("application/vnd.oci.image.layer.v1.tar+gzip", &layer.packed)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": layout::MANIFEST,
        "config": settings.to_json(),
        "layers": [packed.to_json()],
        "annotations": annotations,
    });
    let manifest = image.add_json(layout::MANIFEST, &manifest)?;
    Ok(manifest.on_platform(architecture))
}

/// The bill of materials refers to the image, as registries expect.
fn attach_bill(image: &mut ImageLayout, subject: &BlobDescriptor, bill: &[u8]) -> Result<()> {
    const BILL: &str = "application/vnd.cyclonedx+json";
    let empty = image.add_blob("application/vnd.oci.empty.v1+json", b"{}")?;
    let bill = image.add_blob(BILL, bill)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": layout::MANIFEST,
        "artifactType": BILL,
        "config": empty.to_json(),
        "layers": [bill.to_json()],
        "subject": subject.plain_json(),
    });
    let manifest = image.add_json(layout::MANIFEST, &manifest)?;
    image.refer(&manifest, BILL);
    Ok(())
}
