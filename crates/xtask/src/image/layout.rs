//! An OCI image layout on disk: blobs by their digest, and an index that says where to begin.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A layout that is being written.
pub struct ImageLayout {
    folder: PathBuf,
}

/// How a blob is named where it is used.
#[derive(Clone, Debug)]
pub struct BlobDescriptor {
    media_type: &'static str,
    pub digest: String,
    pub size: u64,
    architecture: Option<String>,
    /// What it is, if it is no image.
    artifact_type: Option<&'static str>,
}

/// `sha256:…` of bytes.
pub fn digest_bytes(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl ImageLayout {
    /// Begins anew. A folder that holds something else is not ours to empty.
    pub fn begin(folder: &Path) -> Result<Self> {
        if folder.exists() {
            let is_empty = fs::read_dir(folder)?.next().is_none();
            let is_ours = folder.join("oci-layout").exists();
            ensure!(is_empty || is_ours, "{} holds something else; name an empty folder", folder.display());
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder.join("blobs/sha256")).with_context(|| folder.display().to_string())?;
        Ok(Self { folder: folder.to_owned() })
    }

    pub fn add_blob(&mut self, media_type: &'static str, bytes: &[u8]) -> Result<BlobDescriptor> {
        let digest = digest_bytes(bytes);
        fs::write(self.folder.join("blobs").join(digest.replace(':', "/")), bytes)?;
        Ok(BlobDescriptor {
            media_type,
            digest,
            size: bytes.len() as u64,
            architecture: None,
            artifact_type: None,
        })
    }

    pub fn add_json(&mut self, media_type: &'static str, value: &Value) -> Result<BlobDescriptor> {
        self.add_blob(media_type, &serde_json::to_vec(value)?)
    }

    /// Writes the index, by which the rest is found.
    pub fn finish(self, manifest: &BlobDescriptor, tag: &str) -> Result<()> {
        let mut first = manifest.to_json();
        first["annotations"] = json!({"org.opencontainers.image.ref.name": tag});
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [first]});
        fs::write(self.folder.join("index.json"), serde_json::to_vec(&index)?)?;
        Ok(fs::write(self.folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?)
    }
}

impl BlobDescriptor {
    pub fn on_platform(self, architecture: &str) -> Self {
        Self { architecture: Some(architecture.to_owned()), ..self }
    }

    pub fn of_type(self, artifact_type: &'static str) -> Self {
        Self { artifact_type: Some(artifact_type), ..self }
    }

    pub fn plain_json(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.digest, "size": self.size})
    }

    pub fn to_json(&self) -> Value {
        let mut descriptor = self.plain_json();
        if let Some(architecture) = &self.architecture {
            descriptor["platform"] = json!({"architecture": architecture, "os": "linux"});
        }
        if let Some(artifact_type) = self.artifact_type {
            descriptor["artifactType"] = json!(artifact_type);
        }
        descriptor
    }
}
