//! Where a reader is in their feed. The reader keeps it and sends it back, so it is bounded and not trusted: at worst they
//! are given something else of their own.

use std::{collections::BTreeSet, fmt};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use model::{EntryKey, UtcMillis};

use crate::bundle::{BundlePlace, FeedBundle};

/// The form below; another form is another number.
const VERSION: u8 = 1;
/// Names of bundles that a cursor has room for. In a run of more, one that moves meanwhile may be passed over.
pub const SHOWN_MAX: usize = 400;
/// Bytes of a name: two of so few are alike once in a million runs.
const NAME_BYTES: usize = 5;
const PLACE_BYTES: usize = 8 + 24;
const HEAD_BYTES: usize = 1 + 8 + 2 * PLACE_BYTES;
/// Characters of the longest text.
pub const CURSOR_CHARS_MAX: usize = (HEAD_BYTES + SHOWN_MAX * NAME_BYTES).div_ceil(3) * 4;

/// A reader's place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeedCursor {
    /// The newest that there was when the first page was given.
    pub top: BundlePlace,
    /// When that was.
    pub as_of: UtcMillis,
    /// The last bundle that was given.
    pub last: BundlePlace,
    /// Which bundles were given.
    shown: BTreeSet<[u8; NAME_BYTES]>,
}

/// A text that no reader was ever given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a valid cursor: {0}; leave it out to start again")]
pub struct FeedCursorError(&'static str);

impl FeedCursor {
    pub(crate) fn new(top: BundlePlace, as_of: UtcMillis) -> Self {
        Self { top, as_of, last: top, shown: BTreeSet::new() }
    }

    /// A bundle that arrived late may be given behind its place: nothing before it is given again for that.
    pub(crate) fn with_last(self, last: BundlePlace) -> Self {
        Self { last: last.min(self.last), ..self }
    }

    pub(crate) fn with_shown(mut self, bundle: &FeedBundle) -> Self {
        if !self.is_full() {
            self.shown.insert(bundle_name(bundle));
        }
        self
    }

    pub(crate) fn has_shown(&self, bundle: &FeedBundle) -> bool {
        self.shown.contains(&bundle_name(bundle))
    }

    /// Whether there is room for no more names.
    pub(crate) fn is_full(&self) -> bool {
        self.shown.len() >= SHOWN_MAX
    }

    /// Reads a text that a reader brings back.
    pub fn parse(text: &str) -> Result<Self, FeedCursorError> {
        if text.len() > CURSOR_CHARS_MAX {
            return Err(FeedCursorError("it is too long"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| FeedCursorError("it is not base64url"))?;
        let Some((&VERSION, rest)) = bytes.split_first() else {
            return Err(FeedCursorError("it has another form"));
        };
        let cut = FeedCursorError("it is cut off or garbled");
        let (as_of, rest) = rest.split_first_chunk().ok_or(cut)?;
        let (top, rest) = decode_place(rest).ok_or(cut)?;
        let (last, rest) = decode_place(rest).ok_or(cut)?;
        let (names, []) = rest.as_chunks::<NAME_BYTES>() else { return Err(cut) };
        let shown: BTreeSet<[u8; NAME_BYTES]> = names.iter().copied().collect();
        if shown.len() != names.len() || last > top {
            return Err(cut);
        }
        Ok(Self { top, as_of: UtcMillis(i64::from_be_bytes(*as_of)), last, shown })
    }
}

fn bundle_name(bundle: &FeedBundle) -> [u8; NAME_BYTES] {
    let [a, b, c, d, e, ..] = bundle.id.0;
    [a, b, c, d, e]
}

fn decode_place(bytes: &[u8]) -> Option<(BundlePlace, &[u8])> {
    let (since, rest) = bytes.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(24)?;
    Some((
        BundlePlace { since: UtcMillis(i64::from_be_bytes(*since)), key: EntryKey::from_bytes(key)? },
        rest,
    ))
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        bytes.extend(self.as_of.0.to_be_bytes());
        for place in [self.top, self.last] {
            bytes.extend(place.since.0.to_be_bytes());
            bytes.extend(place.key.to_bytes());
        }
        self.shown.iter().for_each(|name| bytes.extend(name));
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}
