//! The index of persons: a table of hashes and slots, without the keys. It stores the hashes, so that it can grow
//! without reading the records; it takes eleven to twenty-two bytes a person.

/// In the place of a slot where there is none.
pub const NOBODY: u32 = u32::MAX;

/// A table is at most three quarters full: what is sought is then found within few steps.
const FULL: (usize, usize) = (3, 4);
const LEAST: usize = 16;

/// Linear probing: if a place is taken, the next free one is used.
#[derive(Default, Debug)]
pub struct SlotIndex {
    /// A power of two of them, or none.
    cells: Vec<IndexCell>,
    held: usize,
}

#[derive(Clone, Copy, Debug)]
struct IndexCell {
    hash: u32,
    place: u32,
}

const EMPTY: IndexCell = IndexCell { hash: 0, place: NOBODY };

impl SlotIndex {
    pub fn with_room(places: usize) -> Self {
        let cells = (places * FULL.1 / FULL.0 + 1).max(LEAST).next_power_of_two();
        Self { cells: vec![EMPTY; cells], held: 0 }
    }

    /// Of the slots with this hash the one that it is.
    pub fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let from = self.cells_from(hash).take_while(|(_, cell)| cell.place != NOBODY);
        let mut same = from.filter(|(_, cell)| cell.hash == hash).map(|(_, cell)| cell.place);
        same.find(|place| is_it(*place))
    }

    /// Somebody who is not there yet.
    pub fn insert(&mut self, hash: u32, place: u32) {
        if (self.held + 1) * FULL.1 > self.cells.len() * FULL.0 {
            let cells = std::mem::replace(self, Self::with_room(self.held + 1)).cells;
            for cell in cells.into_iter().filter(|cell| cell.place != NOBODY) {
                self.place_cell(cell);
            }
        }
        self.place_cell(IndexCell { hash, place });
    }

    fn place_cell(&mut self, cell: IndexCell) {
        let free = self.cells_from(cell.hash).find(|(_, there)| there.place == NOBODY).map(|(at, _)| at);
        if let Some(there) = free.and_then(|at| self.cells.get_mut(at)) {
            *there = cell;
            self.held += 1;
        }
    }

    pub fn remove(&mut self, hash: u32, place: u32) {
        let is_it = |(_, cell): &(usize, IndexCell)| cell.place == place;
        let there = self.cells_from(hash).take_while(|(_, cell)| cell.place != NOBODY).find(is_it);
        let Some((mut hole, _)) = there else { return };
        self.held -= 1;
        // Those behind move up, unless they would come to stand before where they are sought from.
        let (mut at, mask) = (hole, self.cells.len() - 1);
        loop {
            at = (at + 1) & mask;
            let cell = self.cells[at];
            if cell.place == NOBODY {
                self.cells[hole] = EMPTY;
                return;
            }
            let home = cell.hash as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.cells[hole] = cell;
                hole = at;
            }
        }
    }

    /// All cells, from the one where a hash is at home.
    fn cells_from(&self, hash: u32) -> impl Iterator<Item = (usize, IndexCell)> {
        let mask = self.cells.len().wrapping_sub(1);
        (0..self.cells.len()).map(move |step| {
            let at = (hash as usize).wrapping_add(step) & mask;
            (at, self.cells[at])
        })
    }
}
