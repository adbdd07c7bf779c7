//! How the room in a batch is shared by the topics of a group.

/// An equal part of the room for each topic, and what one does not need goes to the others: a long lead
/// does not starve its companions, nor the other way round. When there is not room for all, the topic
/// `first` is served first.
pub(super) fn split_quotas(waiting: &[usize], first: usize, most: usize) -> Vec<usize> {
    let topics = waiting.len();
    let mut quotas = vec![0; topics];
    let mut room = most;
    for cap in [most.div_ceil(topics.max(1)), most] {
        for at in (0..topics).map(|i| (first + i) % topics) {
            let more = waiting[at].min(cap).saturating_sub(quotas[at]).min(room);
            quotas[at] += more;
            room -= more;
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::split_quotas;

    #[test]
    fn nobody_starves_and_no_room_is_wasted() {
        assert_eq!(split_quotas(&[100, 0], 0, 10), [10, 0]);
        assert_eq!(split_quotas(&[100, 100], 0, 10), [5, 5]);
        assert_eq!(split_quotas(&[100, 2], 0, 10), [8, 2]);
        assert_eq!(split_quotas(&[1, 1, 1], 0, 10), [1, 1, 1]);
        assert_eq!(split_quotas(&[9, 9, 9], 0, 2), [1, 1, 0]);
        assert_eq!(split_quotas(&[9, 9, 9], 2, 2), [1, 0, 1]);
        assert_eq!(split_quotas(&[9], 0, 0), [0]);
    }
}
