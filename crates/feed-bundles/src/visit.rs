//! What a visit showed: the entries of a page, so that a mark for all of them covers none that came later. The reader keeps
//! it and sends it back, so it is bounded and not trusted: it chooses among the reader's own entries alone.

use std::{collections::BTreeSet, fmt};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{EntryKey, UtcMillis};
use sha2::{Digest as _, Sha256};

use crate::bundle::{BundlePlace, FeedBundle, FeedEntry};

/// The forms below, of a page that names all of its entries and of one that has more; another form is another number.
const NAMES_ALL: u8 = 1;
const HAS_MORE: u8 = 2;
/// Entries that are named. Of a page with more, whatever of a bundle is older than those that are named counts as shown, what
/// arrives late too.
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
    has_more: bool,
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
                return Self { at, named, has_more: !layer.is_empty() };
            }
            named.extend(layer.into_iter().map(|entry| entry_name(entry.place())));
            depth += 1;
        }
    }

    /// The entries that it showed, of the bundles as they were then.
    pub fn list_shown(&self, bundles: &[FeedBundle]) -> BTreeSet<EntryKey> {
        let is_named = |entry: &FeedEntry| self.named.contains(&entry_name(entry.place()));
        let mut shown = BTreeSet::new();
        for bundle in bundles {
            let entries = bundle.entries();
            let named = entries.iter().filter(|entry| is_named(entry));
            shown.extend(named.map(|entry| entry.key));
            let last = entries.iter().rposition(|entry| is_named(entry)).filter(|_| self.has_more);
            shown.extend(last.into_iter().flat_map(|last| &entries[last..]).map(|entry| entry.key));
        }
        shown
    }

    /// Reads a text that a reader brings back.
    pub fn parse(text: &str) -> Result<Self, FeedVisitError> {
        if text.len() > VISIT_CHARS_MAX {
            return Err(FeedVisitError("it is too long"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| FeedVisitError("it is not base64url"))?;
        let Some((&form @ (NAMES_ALL | HAS_MORE), rest)) = bytes.split_first() else {
            return Err(FeedVisitError("it has another form"));
        };
        let cut = FeedVisitError("it is cut off or garbled");
        let (at, rest) = rest.split_first_chunk().ok_or(cut)?;
        let (names, []) = rest.as_chunks::<NAME_BYTES>() else { return Err(cut) };
        let (at, named) = (UtcMillis(i64::from_be_bytes(*at)), names.iter().copied().collect());
        Ok(Self { at, named, has_more: form == HAS_MORE })
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
        let mut bytes = vec![if self.has_more { HAS_MORE } else { NAMES_ALL }];
        bytes.extend(self.at.0.to_be_bytes());
        self.named.iter().for_each(|name| bytes.extend(name));
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}
