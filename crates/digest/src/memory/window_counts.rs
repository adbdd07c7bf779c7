//! How many windows are open and held.

use std::ops::{AddAssign, SubAssign};

use model::person::{HoldCause, Window};

/// Windows of a person, or of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowCounts {
    pub open: usize,
    /// In the order of [`HoldCause::ALL`].
    pub held: [usize; HoldCause::ALL.len()],
}

impl WindowCounts {
    pub fn of_windows(windows: &[Window]) -> Self {
        let held =
            HoldCause::ALL.map(|cause| windows.iter().filter(|window| window.held == Some(cause)).count());
        Self { open: windows.len(), held }
    }

    pub fn has_held(&self) -> bool {
        self.held.iter().any(|held| *held > 0)
    }
}

impl AddAssign for WindowCounts {
    fn add_assign(&mut self, other: Self) {
        self.open += other.open;
        self.held.iter_mut().zip(other.held).for_each(|(held, more)| *held += more);
    }
}

impl SubAssign for WindowCounts {
    fn sub_assign(&mut self, other: Self) {
        self.open -= other.open;
        self.held.iter_mut().zip(other.held).for_each(|(held, fewer)| *held -= fewer);
    }
}
