//! The arithmetic of a window: it doubles until the first time that it was too much, then grows by one a round.

/// What it begins with, what late answers leave of it, and what a cluster that refuses leaves.
const FIRST: usize = 32;
const LATE_LEAST: usize = 16;
const LEAST: usize = 2;

#[derive(Debug)]
pub(super) struct WindowSize {
    now: usize,
    most: usize,
    doubling: bool,
    /// A round is as many answers as the window was wide when it began; and those of this one, and the late ones of them.
    answers_due: usize,
    answers: usize,
    late: usize,
    /// How many were under way at once in this round.
    used: usize,
    /// Counts the halvings: requests that began before one say nothing new.
    round: u64,
}

impl WindowSize {
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        let now = FIRST.min(most);
        Self { now, most, doubling: true, answers_due: now, answers: 0, late: 0, used: 0, round: 0 }
    }

    pub fn now(&self) -> usize {
        self.now
    }

    pub fn round(&self) -> u64 {
        self.round
    }

    /// A request that began in this round was answered, while so many were under way. A window that is not used does not grow.
    pub fn note_answer(&mut self, round: u64, is_late: bool, in_use: usize) {
        if round < self.round {
            return;
        }
        self.answers += 1;
        self.late += usize::from(is_late);
        self.used = self.used.max(in_use);
        let grows = self.now < self.most && 2 * self.used > self.now;
        if grows && self.doubling && !is_late {
            self.now += 1;
        }
        if self.answers < self.answers_due {
            return;
        }
        if 2 * self.late > self.answers {
            self.halve(LATE_LEAST);
            return;
        }
        self.now += usize::from(grows && !self.doubling);
        self.begin_round();
    }

    /// The cluster refused a request that began in this round.
    pub fn note_overload(&mut self, round: u64) {
        if round == self.round {
            self.halve(LEAST);
        }
    }

    /// Down to so many at least, unless there are fewer already.
    fn halve(&mut self, least: usize) {
        self.now = (self.now / 2).max(least).min(self.now);
        self.doubling = false;
        self.round += 1;
        self.begin_round();
    }

    fn begin_round(&mut self) {
        (self.answers_due, self.answers, self.late, self.used) = (self.now, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a window in whole rounds: answered soon, late, half of each, refused, or with little to do.
    fn check(most: usize, rounds: &str, expected: &[usize]) {
        let mut size = WindowSize::new(most);
        let mut seen = Vec::new();
        for sort in rounds.chars() {
            seen.push(size.now());
            let (round, many) = (size.round(), size.now());
            for number in 0..many {
                match sort {
                    'x' => size.note_overload(round),
                    '-' => size.note_answer(round, false, 1),
                    _ => size.note_answer(round, sort == 'l' || (sort == 'h' && number % 2 == 1), many),
                }
            }
        }
        assert_eq!(seen, expected, "{rounds}");
    }

    #[test]
    fn a_window_doubles_then_halves_once_a_round_then_grows_by_one() {
        check(200, "sssslsslls", &[32, 64, 128, 200, 200, 100, 101, 102, 51, 25]);
        check(200, "ssssxssxxs", &[32, 64, 128, 200, 200, 100, 101, 102, 51, 25]);
    }

    #[test]
    fn late_answers_leave_more_of_it_than_refusals() {
        check(200, "llllss", &[32, 16, 16, 16, 16, 17]);
        check(200, "xxxxxlls", &[32, 16, 8, 4, 2, 2, 2, 2]);
        check(200, "xshhs", &[32, 16, 17, 18, 19]);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        check(200, "--sx--s", &[32, 32, 32, 64, 32, 32, 32]);
        check(1, "slxs", &[1, 1, 1, 1]);
    }
}
