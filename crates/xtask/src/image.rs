//! `cargo xtask image`: the program as a container image, put together without a container engine.
//!
//! The image is an OCI layout: a folder of blobs, each named by its digest, that every registry and engine reads. In it are
//! the program, linked statically, certificate authorities and time zones; no shell and no package manager. The same commit
//! gives the same digests, for nothing in it depends on when or where it was made.

mod bill;
mod container;
mod files;
mod layout;
mod program;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

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
/// The folder of the bill of materials, below that of the image. It is a layout of its own, for tools that push images take
/// one in which there is one.
const BILL: &str = "bill";

/// What an image is made from, and where.
pub struct ImageRequest {
    pub out: PathBuf,
    /// A program that is there already; it is built otherwise.
    pub program: Option<PathBuf>,
    /// Where its files are to be laid out, too.
    pub files: Option<PathBuf>,
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
    image.finish(&manifest, &source.version)?;
    attach_bill(&asked.out.join(BILL), &manifest, &bill, &source.version)?;
    fs::write(asked.out.join("bill-of-materials.cdx.json"), &bill)?;
    if let Some(folder) = &asked.files {
        layer.unpack_into(folder).with_context(|| folder.display().to_string())?;
    }
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
    let settings = json!({
        "created": source.created,
        "architecture": architecture,
        "os": "linux",
        "config": container::describe_container(source),
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
        "annotations": container::describe_source(source),
    });
    let manifest = image.add_json(layout::MANIFEST, &manifest)?;
    Ok(manifest.on_platform(architecture))
}

/// The bill of materials refers to the image, as registries expect.
fn attach_bill(folder: &Path, subject: &BlobDescriptor, bill: &[u8], version: &str) -> Result<()> {
    const BILL_TYPE: &str = "application/vnd.cyclonedx+json";
    let mut layout = ImageLayout::begin(folder)?;
    let empty = layout.add_blob("application/vnd.oci.empty.v1+json", b"{}")?;
    let bill = layout.add_blob(BILL_TYPE, bill)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": layout::MANIFEST,
        "artifactType": BILL_TYPE,
        "config": empty.to_json(),
        "layers": [bill.to_json()],
        "subject": subject.plain_json(),
    });
    let manifest = layout.add_json(layout::MANIFEST, &manifest)?;
    layout.finish(&manifest.of_type(BILL_TYPE), &format!("{version}-{BILL}"))
}
