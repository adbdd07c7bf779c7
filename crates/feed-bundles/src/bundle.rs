//! Bundles: entries that share a key, as far as the person saw them at the same time. Whatever one visit showed stays the
//! bundle it was; what comes after it opens a new one.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet, hash_map::DefaultHasher},
    fmt,
    hash::{Hash as _, Hasher as _},
    sync::Arc,
};

use model::{
    Actor, EntryAttention, EntryKey, Kind, SubjectRef, UtcMillis,
    fault::{self, PlantedFault},
    id::write_hex,
};
use sha2::{Digest as _, Sha256};

/// An entry that a feed lists.
#[derive(Clone, PartialEq, Debug)]
pub struct FeedEntry {
    pub key: EntryKey,
    /// The kind in whose words it is listed.
    pub kind: Kind,
    pub subject: SubjectRef,
    pub actor: Option<Actor>,
    pub attention: EntryAttention,
    /// What it has in common with those of its bundle; nothing if it stands alone.
    pub bundle: Option<Arc<str>>,
    /// The same by its kind in the catalogue, also where a client has it bundled by something else.
    pub kind_bundle: Option<Arc<str>>,
}

/// Where an entry stands in a feed: since when it is news, and which one it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BundlePlace {
    pub since: UtcMillis,
    pub key: EntryKey,
}

impl FeedEntry {
    pub fn place(&self) -> BundlePlace {
        BundlePlace { since: self.attention.since, key: self.key }
    }
}

/// Names a bundle within its person, as long as it is the same one: a bundle that a visit showed has another name than
/// before, since what comes next is not in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundleId(pub [u8; 16]);

impl BundleId {
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut id = [0; 16];
        if bytes.len() != 32 || bytes.iter().any(u8::is_ascii_uppercase) {
            return None;
        }
        for (to, pair) in id.iter_mut().zip(bytes.chunks_exact(2)) {
            *to = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(id))
    }
}

impl fmt::Display for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a page names a bundle: as it was when everything until an instant had been looked at. So it is the same one also after
/// the visit that showed it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BundleName {
    pub id: BundleId,
    pub as_of: UtcMillis,
}

impl BundleName {
    pub fn parse(text: &str) -> Option<Self> {
        let (id, as_of) = text.split_once('-')?;
        let is_plain = as_of.len() <= 16 && as_of.bytes().all(|byte| byte.is_ascii_hexdigit());
        let as_of = u64::from_str_radix(as_of, 16).ok().filter(|_| is_plain)?;
        Some(Self { id: BundleId::parse(id)?, as_of: UtcMillis(as_of.cast_signed()) })
    }
}

impl fmt::Display for BundleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:x}", self.id, self.as_of.0)
    }
}

/// What entries of a bundle have in common, or the entry that stands alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BundleKey {
    Shared(Arc<str>),
    Alone(EntryKey),
}

impl BundleKey {
    fn of_entry(entry: &FeedEntry) -> Self {
        entry.bundle.clone().map_or(Self::Alone(entry.key), Self::Shared)
    }

    /// A hash of it, with when it was seen.
    fn bundle_id(&self, seen: Option<UtcMillis>) -> BundleId {
        let mut hash = Sha256::new();
        match self {
            Self::Shared(key) => {
                hash.update([0]);
                hash.update(key.as_bytes());
            }
            Self::Alone(key) => {
                hash.update([1]);
                hash.update(key.to_bytes());
            }
        }
        // A key has no byte that says how long it is: what stands behind it has a length of its own.
        let at = seen.map_or([0; 9], |UtcMillis(at)| {
            let [a, b, c, d, e, f, g, h] = at.to_be_bytes();
            [1, a, b, c, d, e, f, g, h]
        });
        hash.update(at);
        let mut id = [0; 16];
        id.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        BundleId(id)
    }
}

/// An item of a feed.
#[derive(Clone, PartialEq, Debug)]
pub struct FeedBundle {
    pub id: BundleId,
    pub key: BundleKey,
    /// When a visit showed it first; nothing while it is new.
    pub seen: Option<UtcMillis>,
    /// The newest first; never empty. Shared: each page takes bundles out of a feed that stays.
    entries: Arc<[Arc<FeedEntry>]>,
    is_unread: bool,
    look: u64,
}

impl FeedBundle {
    fn new(
        (id, key): (BundleId, BundleKey),
        seen: Option<UtcMillis>,
        mut entries: Vec<Arc<FeedEntry>>,
    ) -> Self {
        entries.sort_unstable_by_key(|entry| Reverse(entry.place()));
        let mut hash = DefaultHasher::new();
        id.hash(&mut hash);
        for entry in &entries {
            (entry.place(), entry.attention.is_read, entry.attention.is_saved).hash(&mut hash);
        }
        let is_unread = entries.iter().any(|entry| !entry.attention.is_read);
        Self { id, key, seen, entries: entries.into(), is_unread, look: hash.finish() }
    }

    /// Changes with whatever a page shows of it, but for the words of what its subjects are by now.
    pub fn look(&self) -> u64 {
        self.look
    }

    pub fn entries(&self) -> &[Arc<FeedEntry>] {
        &self.entries
    }

    /// The entry in whose words it is listed: the newest.
    pub fn lead(&self) -> &FeedEntry {
        &self.entries[0]
    }

    /// Where it stands: where its newest entry does.
    pub fn place(&self) -> BundlePlace {
        self.lead().place()
    }

    /// Whether the catalogue has all of it told as one as well: entries of one kind that share the kind's own key. The kind's
    /// sentence for several is true of no others.
    pub fn is_told_as_one(&self) -> bool {
        let own = &self.lead().kind_bundle;
        own.is_some() && self.entries.iter().all(|entry| entry.kind_bundle == *own)
    }

    pub fn is_new(&self) -> bool {
        self.seen.is_none()
    }

    /// Whether anything of it is unread.
    pub fn is_unread(&self) -> bool {
        self.is_unread
    }

    pub fn is_saved(&self) -> bool {
        self.entries.iter().any(|entry| entry.attention.is_saved)
    }
}

/// When something of these was looked at last: as of then bundles are what they are now.
pub fn find_last_look(entries: &[Arc<FeedEntry>], now: UtcMillis) -> UtcMillis {
    let looks = entries.iter().filter_map(|entry| entry.attention.seen).filter(|at| *at <= now);
    looks.max().unwrap_or(UtcMillis(0))
}

/// Makes bundles of the entries that are listed, as they were seen at an instant: what was looked at since counts as new
/// still. The newest first.
pub fn make_bundles(entries: Vec<Arc<FeedEntry>>, as_of: UtcMillis) -> Vec<FeedBundle> {
    let mut groups: HashMap<(BundleKey, Option<UtcMillis>), Vec<Arc<FeedEntry>>> = HashMap::new();
    for entry in entries {
        groups.entry((BundleKey::of_entry(&entry), seen_as_of(&entry, as_of))).or_default().push(entry);
    }
    let bundle = |((key, seen), entries): ((BundleKey, _), _)| {
        FeedBundle::new((key.bundle_id(seen), key), seen, entries)
    };
    sort_bundles(groups.into_iter().map(bundle).collect())
}

/// When an entry was seen, as far as that was until an instant.
fn seen_as_of(entry: &FeedEntry, as_of: UtcMillis) -> Option<UtcMillis> {
    let seen = entry.attention.seen.filter(|at| *at <= as_of);
    // The best-known fault of such designs: one marker for all that was ever seen.
    if fault::is_planted(PlantedFault::SeenIsOne) { seen.map(|_| as_of) } else { seen }
}

fn sort_bundles(mut bundles: Vec<FeedBundle>) -> Vec<FeedBundle> {
    // They are in order already but for a few, where a feed is changed.
    bundles.sort_by_key(|bundle| Reverse(bundle.place()));
    bundles
}

/// Entries that a feed lists no more, as they were, and entries that it lists now.
#[derive(Clone, Debug, Default)]
pub struct ListingChange {
    pub gone: Vec<Arc<FeedEntry>>,
    pub come: Vec<Arc<FeedEntry>>,
}

impl ListingChange {
    /// Notes how one list became another; both are in the order of keys.
    pub fn add(&mut self, before: &[Arc<FeedEntry>], after: &[Arc<FeedEntry>]) {
        let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
        loop {
            match (before.peek(), after.peek()) {
                (Some(old), Some(new)) if old.key == new.key => {
                    if !Arc::ptr_eq(old, new) && old != new {
                        self.gone.push(Arc::clone(old));
                        self.come.push(Arc::clone(new));
                    }
                    before.next();
                    after.next();
                }
                (Some(old), new) if new.is_none_or(|new| old.key < new.key) => {
                    self.gone.extend(before.next().cloned());
                }
                (_, Some(_)) => self.come.extend(after.next().cloned()),
                (_, None) => return,
            }
        }
    }

    /// How many entries are others, about.
    pub fn count(&self) -> usize {
        self.gone.len().max(self.come.len())
    }
}

/// The bundles of a feed of which some entries changed: the same as all of them made anew. As long as nothing was seen after
/// either instant.
pub fn change_bundles(
    (bundles, before): (&[FeedBundle], UtcMillis),
    ListingChange { gone, come }: ListingChange,
    as_of: UtcMillis,
) -> Vec<FeedBundle> {
    let id = |entry: &FeedEntry, as_of| BundleKey::of_entry(entry).bundle_id(seen_as_of(entry, as_of));
    let left = gone.iter().map(|entry| id(entry, before));
    let touched: HashSet<BundleId> = left.chain(come.iter().map(|entry| id(entry, as_of))).collect();
    let gone: HashSet<EntryKey> = gone.iter().map(|entry| entry.key).collect();
    let (mut changed, mut loose) = (Vec::with_capacity(bundles.len()), come);
    for bundle in bundles {
        if touched.contains(&bundle.id) {
            let stays = |entry: &&Arc<FeedEntry>| {
                !gone.contains(&entry.key) || fault::is_planted(PlantedFault::GoneStays)
            };
            loose.extend(bundle.entries.iter().filter(stays).cloned());
        } else {
            changed.push(bundle.clone());
        }
    }
    changed.extend(make_bundles(loose, as_of));
    sort_bundles(changed)
}
