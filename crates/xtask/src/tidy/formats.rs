//! What is persisted cannot change without somebody deciding about its format: the digest of all schemas, goldens and
//! tables stands beside the number, and another one is complained of.

use sha2::{Digest as _, Sha256};

use crate::tree::SourceTree;

/// Where the number is, and the digest.
const FORMAT: &str = "crates/house-facts/src/format.rs";
const START: &str = "pub const FORMS: &str = \"";
/// Half of the digest is enough: nobody forges it.
const DIGEST_BYTES: usize = 8;

pub fn check_formats(tree: &SourceTree) -> Vec<String> {
    let Some(Some(text)) = tree.files.get(FORMAT) else { return vec![format!("{FORMAT}: missing")] };
    let decided = text.split_once(START).and_then(|(_, rest)| rest.split('"').next());
    let Some(decided) = decided else { return vec![format!("{FORMAT}: no line begins with `{START}`")] };
    let found = digest_forms(tree);
    if decided == found {
        return Vec::new();
    }
    vec![format!(
        "{FORMAT}: what is persisted has changed. Decide whether the release before can read what is then written, as this \
         file says at its head: if it can, set FORMS to \"{found}\"; if it cannot, raise the numbers too"
    )]
}

/// The digest of the persisted forms: records, their goldens, rows, and the tables of the store.
fn digest_forms(tree: &SourceTree) -> String {
    let mut digest = Sha256::new();
    for (path, text) in tree.texts(is_persisted_form) {
        for part in [path, text] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
    }
    digest.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

fn is_persisted_form(path: &str) -> bool {
    let of_records =
        path.ends_with(".avsc") || path.starts_with("schemas/golden/") || path.starts_with("schemas/rows/");
    (path.starts_with("schemas/") && of_records)
        || (path.starts_with("crates/store-cql/src/migrations/") && path.ends_with(".cql"))
}
