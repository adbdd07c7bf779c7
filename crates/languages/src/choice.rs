//! Which of the languages that there are is a reader's: the same, a wider one (`de` for `de-AT`), one of the same
//! name (`pt-BR` for `pt`), else the first.

use crate::ReaderLanguage;

/// Languages of a header that are looked at.
const ACCEPTED_MAX: usize = 20;

/// The language for a reader who states this one.
pub fn choose_language<'a>(
    stated: Option<&str>,
    offered: &'a [ReaderLanguage],
) -> Option<&'a ReaderLanguage> {
    stated.and_then(|stated| find_nearest(stated, offered)).or_else(|| offered.first())
}

/// The language for whoever sent this `Accept-Language`.
pub fn choose_accepted<'a>(header: &str, offered: &'a [ReaderLanguage]) -> Option<&'a ReaderLanguage> {
    let mut accepted: Vec<(&str, u16)> =
        header.split(',').take(ACCEPTED_MAX).filter_map(parse_range).collect();
    // The sort keeps the order of those that are wanted alike.
    accepted.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    accepted.iter().find_map(|(tag, _)| find_nearest(tag, offered)).or_else(|| offered.first())
}

/// `de-AT;q=0.8`: the language, and how much it is wanted in thousandths; nothing if it is not wanted at all.
fn parse_range(range: &str) -> Option<(&str, u16)> {
    let (tag, weight) = range.split_once(';').unwrap_or((range, "q=1"));
    let weight: f32 = weight.trim().strip_prefix("q=")?.trim().parse().ok()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1000")]
    let weight = (weight.clamp(0.0, 1.0) * 1_000.0) as u16;
    (weight > 0).then_some((tag.trim(), weight))
}

fn find_nearest<'a>(stated: &str, offered: &'a [ReaderLanguage]) -> Option<&'a ReaderLanguage> {
    let mut wanted = stated.trim();
    loop {
        if let Some(found) = offered.iter().find(|one| one.tag().eq_ignore_ascii_case(wanted)) {
            return Some(found);
        }
        let Some((wider, _)) = wanted.rsplit_once('-') else { break };
        wanted = wider;
    }
    offered.iter().find(|one| name_of(one.tag()).eq_ignore_ascii_case(wanted))
}

/// The language of a tag without its region.
pub(crate) fn name_of(tag: &str) -> &str {
    tag.split('-').next().unwrap_or_default()
}
