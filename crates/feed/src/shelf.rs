//! What was read of a person: their days as the rows say, what they saved, what is known of the subjects on which bundles depend,
//! and the feed that was made of these last.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use model::{Day, DayView, EntryKey, EntryView, UtcMillis, WorldSnapshot};
use room::saved::concerns_saved;
use wire::Feedback;

use crate::{
    facts::FeedSheet,
    kept_page::{KEPT_BYTES_MAX, KeptPage},
    listed::ListedDay,
    request::PageRequest,
};

/// Bytes of an entry in memory and of a day, about.
const ENTRY_BYTES: usize = 1_500;
const DAY_BYTES: usize = 400;
/// Bytes of the page that was answered last, about.
const PAGE_BYTES: usize = 10_000;

/// A day as its rows say, without the house's notes.
#[derive(Debug, Default)]
pub struct ShelfDay {
    pub view: DayView,
    listed: Mutex<Option<Arc<ListedDay>>>,
    before: Option<MarkedDay>,
}

/// What a day listed before some of its entries were marked.
#[derive(Debug)]
struct MarkedDay {
    listed: Arc<ListedDay>,
    marked: Vec<EntryKey>,
}

impl ShelfDay {
    pub fn new(view: DayView) -> Self {
        Self { view, ..Self::default() }
    }

    /// This day with some of its entries marked, and nothing else different.
    fn with_marked(&self, view: DayView, marked: Vec<EntryKey>) -> Self {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let before = listed.map(|listed| MarkedDay { listed, marked });
        Self { view, before, ..Self::default() }
    }

    /// What was listed last, if it was made of the same and is still as it was; else it is listed now, as far as it has to be.
    pub fn list(
        &self,
        (made_of, world): (u64, &Arc<WorldSnapshot>),
        now: UtcMillis,
        make: impl Fn(&DayView) -> ListedDay,
    ) -> Arc<ListedDay> {
        let is_as_now = |listed: &ListedDay| {
            listed.made_of == made_of
                && Arc::ptr_eq(&listed.world, world)
                && listed.made_at <= now
                && now < listed.until
        };
        let known = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(listed) = known.filter(|listed| is_as_now(listed)) {
            return listed;
        }
        let before = self.before.as_ref().filter(|before| is_as_now(&before.listed));
        let listed = Arc::new(match before {
            Some(MarkedDay { listed, marked }) => listed.with_marked(marked, &make(&self.view.pick(marked))),
            None => make(&self.view),
        });
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed.clone());
        listed
    }
}

/// Everything that is remembered of one person.
#[derive(Debug, Default)]
pub struct PersonShelf {
    /// When the oldest part was read, by a clock that nobody sets.
    pub read_at: i64,
    /// Days without rows are left out.
    pub days: BTreeMap<Day, Arc<ShelfDay>>,
    /// Copies of what the person saved: each counts when its day is over.
    pub saved: Arc<DayView>,
    /// The subjects that bundles ask, of all entries.
    pub world: Arc<WorldSnapshot>,
    sheet: Mutex<Option<KeptSheet>>,
    page: Mutex<Option<Arc<KeptPage>>>,
}

/// The feed that was made last.
#[derive(Clone, Debug)]
struct KeptSheet {
    sheet: Arc<FeedSheet>,
    /// Whether it was made of the days as they are here, and not of those before.
    is_of_these: bool,
}

impl PersonShelf {
    pub fn new(
        read_at: i64,
        read: BTreeMap<Day, DayView>,
        saved: Arc<DayView>,
        world: Arc<WorldSnapshot>,
    ) -> Self {
        Self { read_at, ..Self::default() }.with_days(read, saved, world)
    }

    /// An entry.
    pub fn get(&self, key: EntryKey) -> Option<&EntryView> {
        let of_day = self.days.get(&key.day()).and_then(|day| day.view.get(key));
        of_day.or_else(|| self.saved.get(key))
    }

    /// Whether what a person did is in it: whoever wrote it put it there, or it was read since.
    pub fn knows(&self, Feedback { what, keys, at, .. }: &Feedback) -> bool {
        let is_known = |key: &EntryKey| {
            let entry = self.days.get(&key.day()).and_then(|day| day.view.get(*key));
            let Some(entry) = entry.filter(|entry| entry.was_marked(what.mark(), *at)) else { return false };
            // A copy is written after the mark, and read after the days. What was done since may have taken it away again.
            let is_copied = self.saved.get(*key).is_some() == (entry.is_saved() && !entry.is_cleared());
            is_copied || !concerns_saved(*what)
        };
        keys.iter().all(is_known)
    }

    /// Entries of days, as far as they live, and copies.
    pub fn count_entries(&self) -> usize {
        self.saved.len() + self.days.values().map(|day| day.view.len()).sum::<usize>()
    }

    /// What it takes of memory, about: the days, and as much again for the feed.
    pub fn bytes(&self) -> usize {
        self.count_entries() * ENTRY_BYTES + self.days.len() * DAY_BYTES + PAGE_BYTES
    }

    /// The feed that was made last, if it was made of the same and is still as it was.
    pub fn find_sheet(&self, made_of: u64, now: UtcMillis) -> Option<Arc<FeedSheet>> {
        let kept = self.kept_sheet().filter(|kept| kept.is_of_these)?;
        let is_as_now =
            |sheet: &Arc<FeedSheet>| sheet.made_of == made_of && sheet.made_at <= now && now < sheet.until;
        Some(kept.sheet).filter(is_as_now)
    }

    /// The feed that was made last, whatever it was made of: most of the next one is as it was.
    pub fn find_last_sheet(&self) -> Option<Arc<FeedSheet>> {
        self.kept_sheet().map(|kept| kept.sheet)
    }

    fn kept_sheet(&self) -> Option<KeptSheet> {
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The page that was answered last, if it has what is asked for.
    pub fn find_page(
        &self,
        sheet: &Arc<FeedSheet>,
        request: &PageRequest,
        now: UtcMillis,
    ) -> Option<Arc<KeptPage>> {
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner).clone();
        page.filter(|page| page.answers(sheet, request, now))
    }

    pub fn keep_page(&self, page: KeptPage) {
        if page.body.size() <= KEPT_BYTES_MAX {
            *self.page.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(page));
        }
    }

    pub fn keep_sheet(&self, sheet: Arc<FeedSheet>) {
        let kept = KeptSheet { sheet, is_of_these: true };
        *self.sheet.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    /// The same person with some days read anew.
    pub fn with_days(
        &self,
        read: BTreeMap<Day, DayView>,
        saved: Arc<DayView>,
        world: Arc<WorldSnapshot>,
    ) -> Self {
        let read = read.into_iter().map(|(day, view)| (day, ShelfDay::new(view)));
        self.with_shelf_days(read, saved, world)
    }

    /// The same person with some entries of days marked that are kept here.
    pub fn with_marked(
        &self,
        views: BTreeMap<Day, DayView>,
        marked: &[EntryKey],
        saved: Arc<DayView>,
        world: Arc<WorldSnapshot>,
    ) -> Self {
        let mut of_days = BTreeMap::<Day, Vec<EntryKey>>::new();
        marked.iter().collect::<BTreeSet<_>>().into_iter().for_each(|key| {
            of_days.entry(key.day()).or_default().push(*key);
        });
        let with_marks = |(day, view): (Day, DayView)| {
            let marked = of_days.remove(&day).unwrap_or_default();
            let kept = self.days.get(&day);
            (day, kept.map_or_else(ShelfDay::default, |kept| kept.with_marked(view, marked)))
        };
        self.with_shelf_days(views.into_iter().map(with_marks), saved, world)
    }

    fn with_shelf_days(
        &self,
        read: impl Iterator<Item = (Day, ShelfDay)>,
        saved: Arc<DayView>,
        world: Arc<WorldSnapshot>,
    ) -> Self {
        let mut days = self.days.clone();
        for (day, read) in read {
            if read.view.is_empty() {
                days.remove(&day);
            } else {
                days.insert(day, Arc::new(read));
            }
        }
        let before = self.kept_sheet().map(|kept| KeptSheet { is_of_these: false, ..kept });
        Self { read_at: self.read_at, days, saved, world, sheet: Mutex::new(before), ..Self::default() }
    }
}
