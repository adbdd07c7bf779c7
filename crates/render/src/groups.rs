//! What stands under one head: things of one author, of one city.

use model::{AudienceMatch, EntryReason, SubjectRef, Value, VersionedState};

/// What several things have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupHead {
    Of(SubjectRef),
    Text(String),
}

/// Some of the things of a section, by their places in it.
#[derive(PartialEq, Eq, Debug)]
pub struct ItemGroup {
    pub head: Option<GroupHead>,
    pub items: Vec<usize>,
}

/// The heads under which a thing may stand, the best first: of several it is what the reader follows.
pub fn list_heads(field: &str, state: &VersionedState, reasons: &[EntryReason]) -> Vec<GroupHead> {
    let followed = |to: &SubjectRef| {
        reasons.iter().any(|reason| matches!(&reason.because, AudienceMatch::Follows(target) if target == to))
    };
    match state.get(field) {
        Some(Value::Text(text)) if !text.trim().is_empty() => vec![GroupHead::Text(text.trim().to_owned())],
        Some(value) => {
            let (first, then): (Vec<_>, Vec<_>) = value.refs().iter().partition(|to| followed(to));
            first.into_iter().chain(then).cloned().map(GroupHead::Of).collect()
        }
        None => Vec::new(),
    }
}

/// Everything once, under the best head that there is already, else under its own best. What has no head stands alone.
/// The order is that of the first thing of each.
pub fn group_items(all: impl IntoIterator<Item = (usize, Vec<GroupHead>)>) -> Vec<ItemGroup> {
    let mut groups: Vec<ItemGroup> = Vec::new();
    for (place, heads) in all {
        let stands = |head: &GroupHead| groups.iter().position(|group| group.head.as_ref() == Some(head));
        match heads.iter().find_map(stands) {
            Some(at) => groups[at].items.push(place),
            None => groups.push(ItemGroup { head: heads.into_iter().next(), items: vec![place] }),
        }
    }
    groups
}

/// Whether two reasons are said alike, whatever they are of.
pub fn is_same_reason(one: &EntryReason, other: &EntryReason) -> bool {
    match (&one.because, &other.because) {
        // How far each is, is its own.
        (AudienceMatch::Near, _) => false,
        (AudienceMatch::Listed(_), AudienceMatch::Listed(_)) => true,
        (one, other) => one == other,
    }
}

/// The reasons that several things have in common; none of one thing alone.
pub fn common_reasons<'a>(all: impl Iterator<Item = &'a [EntryReason]>) -> Vec<EntryReason> {
    let all: Vec<&[EntryReason]> = all.collect();
    let [first, others @ ..] = &all[..] else { return Vec::new() };
    let has =
        |reasons: &[EntryReason], one: &EntryReason| reasons.iter().any(|other| is_same_reason(one, other));
    let everywhere =
        |one: &&EntryReason| !others.is_empty() && others.iter().all(|reasons| has(reasons, one));
    first.iter().filter(everywhere).cloned().collect()
}

#[cfg(test)]
mod tests {
    use model::Kind;

    use super::*;

    fn subject_ref(text: &str) -> SubjectRef {
        SubjectRef::new(text).unwrap()
    }

    #[test]
    fn things_stand_together_in_the_order_of_the_first_and_none_is_lost() {
        let check = |things: &[&str], expected: &[(&str, &[usize])]| {
            let heads =
                |names: &&str| names.split_whitespace().map(|name| GroupHead::Text(name.into())).collect();
            let found = group_items(things.iter().map(heads).enumerate());
            let found: Vec<(String, Vec<usize>)> = found
                .into_iter()
                .map(|group| match group.head {
                    Some(GroupHead::Text(name)) => (name, group.items),
                    _ => (String::new(), group.items),
                })
                .collect();
            let expected: Vec<_> =
                expected.iter().map(|(name, items)| ((*name).to_owned(), items.to_vec())).collect();
            assert_eq!(found, expected, "{things:?}");
        };
        check(&[], &[]);
        check(&["a", "b", "a", "b", "a"], &[("a", &[0, 2, 4]), ("b", &[1, 3])]);
        check(&["", "a", "", "a"], &[("", &[0]), ("a", &[1, 3]), ("", &[2])]);
        // Of several the one that is there already, whichever it is of its own.
        check(&["a", "b a", "c b", "c"], &[("a", &[0, 1]), ("c", &[2, 3])]);
        check(&["b a", "a"], &[("b", &[0]), ("a", &[1])]);
    }

    #[test]
    fn what_all_have_in_common_is_said_once() {
        let reason = |because: &AudienceMatch| EntryReason {
            kind: Kind::new("show").unwrap(),
            because: because.clone(),
        };
        let [ann, bo] = ["author:1", "author:2"].map(|id| AudienceMatch::Follows(subject_ref(id)));
        let listed = |score| AudienceMatch::Listed(model::PersonScore::new(score).unwrap());
        let check = |things: &[&[AudienceMatch]], expected: &[AudienceMatch]| {
            let things: Vec<Vec<EntryReason>> =
                things.iter().map(|all| all.iter().map(reason).collect()).collect();
            let found = common_reasons(things.iter().map(Vec::as_slice));
            assert_eq!(found, expected.iter().map(reason).collect::<Vec<_>>(), "{things:?}");
        };
        let (only_ann, only_bo) = (std::slice::from_ref(&ann), std::slice::from_ref(&bo));
        check(&[], &[]);
        check(&[only_ann], &[]);
        check(&[only_ann, &[bo.clone(), ann.clone()]], only_ann);
        check(&[only_ann, only_bo], &[]);
        check(&[&[listed(0.1)], &[listed(0.9)]], &[listed(0.1)]);
        check(&[&[AudienceMatch::Near], &[AudienceMatch::Near]], &[]);
        let both = [ann.clone(), bo.clone()];
        check(&[&both, &both], &both);
    }

    #[test]
    fn of_several_heads_the_one_that_is_followed_comes_first() {
        let follows = |to: &str| EntryReason {
            kind: Kind::new("show").unwrap(),
            because: AudienceMatch::Follows(subject_ref(to)),
        };
        let check = |value: Value, reasons: &[EntryReason], expected: &[GroupHead]| {
            let state = VersionedState::from_values(1, [("by", Some(value.clone()))]);
            assert_eq!(list_heads("by", &state, reasons), expected, "{value:?}");
        };
        let [one, two] = ["author:1", "author:2"].map(subject_ref);
        let both = Value::Refs(vec![one.clone(), two.clone()]);
        check(both.clone(), &[], &[GroupHead::Of(one.clone()), GroupHead::Of(two.clone())]);
        check(
            both,
            &[follows("author:2"), follows("house:1")],
            &[GroupHead::Of(two), GroupHead::Of(one.clone())],
        );
        check(Value::Ref(one.clone()), &[], &[GroupHead::Of(one)]);
        check(Value::from_text(" Berlin "), &[], &[GroupHead::Text("Berlin".into())]);
        check(Value::from_text("  "), &[], &[]);
        check(Value::Number(1.0), &[], &[]);
        assert_eq!(list_heads("by", &VersionedState::default(), &[]), []);
    }
}
