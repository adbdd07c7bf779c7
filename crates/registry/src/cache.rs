//! What was learned of a registry: schemas by their ids, and the ids of ours. In memory, and in a file for
//! the next start.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use wire::{SchemaLookupError, schemas::WriterSchema};

/// Schemas that are remembered; beyond that all are asked for again.
const SCHEMAS_MAX: usize = 500;
/// Ids of which it is remembered that there is no schema.
const UNKNOWN_MAX: usize = 10_000;
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct SchemaCache {
    file: Option<PathBuf>,
    known: Mutex<CachedSchemas>,
}

#[derive(Debug, Default)]
struct CachedSchemas {
    kept: SchemaCacheFile,
    writers: HashMap<u32, Arc<WriterSchema>>,
    /// Until when, and why.
    unknown: HashMap<u32, (i64, String)>,
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SchemaCacheFile {
    /// Whose ids these are.
    urls: Vec<String>,
    schemas: BTreeMap<u32, String>,
    /// By subject.
    ours: BTreeMap<String, OwnSchemaId>,
}

/// The id of a schema of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnSchemaId {
    pub id: u32,
    /// By what its records begin in single-object encoding: another release has another schema.
    pub header: Vec<u8>,
}

impl SchemaCache {
    /// With what the file holds, if it is of this registry. It is a help and no more, so one that cannot be
    /// read is begun anew.
    pub fn open(file: Option<PathBuf>, urls: &[String]) -> Self {
        let kept = file.as_deref().and_then(|path| match read_cache_file(path) {
            Ok(kept) => Some(kept),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cached schemas cannot be read");
                None
            }
        });
        let kept = kept.filter(|kept| kept.urls == urls);
        let kept =
            kept.unwrap_or_else(|| SchemaCacheFile { urls: urls.to_vec(), ..SchemaCacheFile::default() });
        let writers = kept.schemas.iter();
        let writers = writers.filter_map(|(id, text)| Some((*id, Arc::new(WriterSchema::parse(text).ok()?))));
        let known = CachedSchemas { writers: writers.collect(), kept, unknown: HashMap::new() };
        Self { file, known: Mutex::new(known) }
    }

    pub fn schema(&self, id: u32, now: i64) -> Option<Result<Arc<WriterSchema>, SchemaLookupError>> {
        let known = self.lock_schemas();
        if let Some(writer) = known.writers.get(&id) {
            return Some(Ok(writer.clone()));
        }
        let (_, reason) = known.unknown.get(&id).filter(|(until, _)| now < *until)?;
        Some(Err(SchemaLookupError::Unknown(reason.clone())))
    }

    pub fn learn(&self, id: u32, text: &str, writer: WriterSchema) -> Arc<WriterSchema> {
        let writer = Arc::new(writer);
        let mut known = self.lock_schemas();
        if known.writers.len() >= SCHEMAS_MAX {
            known.writers.clear();
            known.kept.schemas.clear();
        }
        known.writers.insert(id, writer.clone());
        known.kept.schemas.insert(id, text.to_owned());
        self.save_file(&known.kept);
        writer
    }

    pub fn learn_missing(&self, id: u32, reason: &str, until: i64) {
        let mut known = self.lock_schemas();
        if known.unknown.len() >= UNKNOWN_MAX {
            known.unknown.clear();
        }
        known.unknown.insert(id, (until, reason.to_owned()));
    }

    pub fn own_schema_id(&self, subject: &str) -> Option<OwnSchemaId> {
        self.lock_schemas().kept.ours.get(subject).cloned()
    }

    pub fn learn_own_schema_id(&self, subject: &str, ours: OwnSchemaId) {
        let mut known = self.lock_schemas();
        if known.kept.ours.get(subject) != Some(&ours) {
            known.kept.ours.insert(subject.to_owned(), ours);
            self.save_file(&known.kept);
        }
    }

    fn lock_schemas(&self) -> MutexGuard<'_, CachedSchemas> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save_file(&self, kept: &SchemaCacheFile) {
        let Some(path) = &self.file else { return };
        if let Err(error) = write_cache_file(path, kept) {
            tracing::warn!(path = %path.display(), %error, "cached schemas cannot be written");
        }
    }
}

fn read_cache_file(path: &Path) -> io::Result<SchemaCacheFile> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// Whole or not at all: several processes may share the file.
fn write_cache_file(path: &Path, kept: &SchemaCacheFile) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.persist(path)?;
    Ok(())
}
