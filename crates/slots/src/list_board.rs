//! The lists that this process has seen. Of many who ask for a list at once one looks, and the others have what it finds
//! (`apply::find_once`).

use std::sync::Arc;

use model::UtcMillis;
use quick_cache::{Weighter, sync::Cache};
use slot_lists::{ListLife, ListStep, SlotList};

use crate::{
    config::{BOARD_BYTES_MAX, BOARD_LISTS},
    read::AskedList,
};

/// What is known of lists, up to a number of bytes.
#[derive(Debug)]
pub struct ListBoard(SeenLists);

/// Each list by what was asked for.
pub type SeenLists = Cache<AskedList, Arc<SlotList>, ListWeighter>;

#[derive(Clone, Debug)]
pub struct ListWeighter;

impl Weighter<AskedList, Arc<SlotList>> for ListWeighter {
    fn weight(&self, _: &AskedList, list: &Arc<SlotList>) -> u64 {
        let things =
            list.things().map(|thing| thing.subject.as_str().len() + thing.image.len() + thing.link.len());
        let overhead = 256 + list.things().count() * 96;
        (overhead + things.sum::<usize>()) as u64
    }
}

impl Default for ListBoard {
    fn default() -> Self {
        Self(Cache::with_weighter(BOARD_LISTS, BOARD_BYTES_MAX, ListWeighter))
    }
}

impl ListBoard {
    /// The list, if it was seen and nobody can have put another one in its place.
    pub fn find(&self, asked: &AskedList, life: ListLife, now: UtcMillis) -> Option<Arc<SlotList>> {
        let list = self.0.get(asked)?;
        let is_served = now < list.known_until() && list.find_step(life, now) == ListStep::Serve;
        if is_served {
            return Some(list);
        }
        self.0.remove_if(asked, |kept| Arc::ptr_eq(kept, &list));
        None
    }

    /// What was seen, for whoever looks.
    pub fn seen(&self) -> &SeenLists {
        &self.0
    }
}
