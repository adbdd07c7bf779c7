//! What a visit showed: the entries of a page, so that a mark for all of them covers none that came later. The reader keeps
//! it and sends it back, so it is bounded and not trusted: it chooses among the reader's own entries alone.

use std::{collections::BTreeSet, fmt};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::UtcMillis;
use sha2::{Digest as _, Sha256};

use crate::bundle::{BundlePlace, FeedBundle, FeedEntry};

/// The form below; another form is another number.
const VERSION: u8 = 1;
/// Entries that are named. Of a page with more, those that are older than these count as shown, one that arrives late too.
pub const NAMED_MAX: usize = 1_500;
/// Bytes of a name: two of so few are alike once in a million visits.
const NAME_BYTES: usize = 5;
const HEAD_BYTES: usize = 1 + 8;
/// Characters of the longest text.
pub const VISIT_CHARS_MAX: usize = (HEAD_BYTES + NAMED_MAX * NAME_BYTES).div_ceil(3) * 4;

/// The entries that a visit showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeedVisit {
    /// When it was.
    pub at: UtcMillis,
    named: BTreeSet<[u8; NAME_BYTES]>,
}

/// A text that no page had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not what a page said was shown: {0}")]
pub struct FeedVisitError(&'static str);

impl FeedVisit {
    /// A visit that shows these bundles: of more entries than have room, the newest of each bundle first.
    pub fn from_bundles(bundles: &[FeedBundle], at: UtcMillis) -> Self {
        let mut depth = 0;
        let mut named = BTreeSet::new();
        loop {
            let layer: Vec<&FeedEntry> = bundles
                .iter()
                .filter_map(|bundle| bundle.entries().get(depth).map(|entry| &**entry))
                .collect();
            if layer.is_empty() || named.len() + layer.len() > NAMED_MAX {
                return Self { at, named };
            }
            named.extend(layer.into_iter().map(|entry| entry_name(entry.place())));
            depth += 1;
        }
    }

    /// Whether it showed an entry.
    pub fn has_shown(&self, entry: &FeedEntry) -> bool {
        self.named.contains(&entry_name(entry.place()))
    }

    /// Reads a text that a reader brings back.
    pub fn parse(text: &str) -> Result<Self, FeedVisitError> {
        if text.len() > VISIT_CHARS_MAX {
            return Err(FeedVisitError("it is too long"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| FeedVisitError("it is not base64url"))?;
        let Some((&VERSION, rest)) = bytes.split_first() else {
            return Err(FeedVisitError("it has another form"));
        };
        let cut = FeedVisitError("it is cut off or garbled");
        let (at, rest) = rest.split_first_chunk().ok_or(cut)?;
        let (names, []) = rest.as_chunks::<NAME_BYTES>() else { return Err(cut) };
        Ok(Self { at: UtcMillis(i64::from_be_bytes(*at)), named: names.iter().copied().collect() })
    }
}

/// An entry as it stands: one that was put off and came back is another one than before.
fn entry_name(place: BundlePlace) -> [u8; NAME_BYTES] {
    let mut hash = Sha256::new();
    hash.update(place.since.0.to_be_bytes());
    hash.update(place.key.to_bytes());
    let mut name = [0; NAME_BYTES];
    name.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    name
}

impl fmt::Display for FeedVisit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend(self.at.0.to_be_bytes());
        self.named.iter().for_each(|name| bytes.extend(name));
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}
