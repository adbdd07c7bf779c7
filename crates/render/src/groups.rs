//! What stands under one head: things of one author, of one city.

use model::{Because, Reason, State, SubjectRef, Value};

/// What several things have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Head {
    Of(SubjectRef),
    Text(String),
}

/// Some of the things of a section, by their places in it.
#[derive(PartialEq, Eq, Debug)]
pub struct Group {
    pub head: Option<Head>,
    pub items: Vec<usize>,
}

/// The heads under which a thing may stand, the best first: of several it is what the reader follows.
pub fn heads(field: &str, state: &State, reasons: &[Reason]) -> Vec<Head> {
    let followed = |to: &SubjectRef| {
        reasons.iter().any(|reason| matches!(&reason.because, Because::Follows(target) if target == to))
    };
    match state.get(field) {
        Some(Value::Text(text)) if !text.trim().is_empty() => vec![Head::Text(text.trim().to_owned())],
        Some(value) => {
            let (first, then): (Vec<_>, Vec<_>) = value.refs().iter().partition(|to| followed(to));
            first.into_iter().chain(then).cloned().map(Head::Of).collect()
        }
        None => Vec::new(),
    }
}

/// Everything once, under the best head that there is already, else under its own best. What has no head stands alone.
/// The order is that of the first thing of each.
pub fn groups(all: impl IntoIterator<Item = (usize, Vec<Head>)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (place, heads) in all {
        let stands = |head: &Head| groups.iter().position(|group| group.head.as_ref() == Some(head));
        match heads.iter().find_map(stands) {
            Some(at) => groups[at].items.push(place),
            None => groups.push(Group { head: heads.into_iter().next(), items: vec![place] }),
        }
    }
    groups
}

/// Whether two reasons are said alike, whatever they are of.
pub fn is_same(one: &Reason, other: &Reason) -> bool {
    match (&one.because, &other.because) {
        // How far each is, is its own.
        (Because::Near, _) => false,
        (Because::Listed(_), Because::Listed(_)) => true,
        (one, other) => one == other,
    }
}

/// The reasons that several things have in common; none of one thing alone.
pub fn common<'a>(all: impl Iterator<Item = &'a [Reason]>) -> Vec<Reason> {
    let all: Vec<&[Reason]> = all.collect();
    let [first, others @ ..] = &all[..] else { return Vec::new() };
    let has = |reasons: &[Reason], one: &Reason| reasons.iter().any(|other| is_same(one, other));
    let everywhere = |one: &&Reason| !others.is_empty() && others.iter().all(|reasons| has(reasons, one));
    first.iter().filter(everywhere).cloned().collect()
}

#[cfg(test)]
mod tests {
    use model::Kind;

    use super::*;

    fn of(text: &str) -> SubjectRef {
        SubjectRef::new(text).unwrap()
    }

    #[test]
    fn things_stand_together_in_the_order_of_the_first_and_none_is_lost() {
        let check = |things: &[&str], expected: &[(&str, &[usize])]| {
            let heads = |names: &&str| names.split_whitespace().map(|name| Head::Text(name.into())).collect();
            let found = groups(things.iter().map(heads).enumerate());
            let found: Vec<(String, Vec<usize>)> = found
                .into_iter()
                .map(|group| match group.head {
                    Some(Head::Text(name)) => (name, group.items),
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
        let reason =
            |because: &Because| Reason { kind: Kind::new("show").unwrap(), because: because.clone() };
        let [ann, bo] = ["author:1", "author:2"].map(|id| Because::Follows(of(id)));
        let listed = |score| Because::Listed(model::Score::new(score).unwrap());
        let check = |things: &[&[Because]], expected: &[Because]| {
            let things: Vec<Vec<Reason>> =
                things.iter().map(|all| all.iter().map(reason).collect()).collect();
            let found = common(things.iter().map(Vec::as_slice));
            assert_eq!(found, expected.iter().map(reason).collect::<Vec<_>>(), "{things:?}");
        };
        let (only_ann, only_bo) = (std::slice::from_ref(&ann), std::slice::from_ref(&bo));
        check(&[], &[]);
        check(&[only_ann], &[]);
        check(&[only_ann, &[bo.clone(), ann.clone()]], only_ann);
        check(&[only_ann, only_bo], &[]);
        check(&[&[listed(0.1)], &[listed(0.9)]], &[listed(0.1)]);
        check(&[&[Because::Near], &[Because::Near]], &[]);
        let both = [ann.clone(), bo.clone()];
        check(&[&both, &both], &both);
    }

    #[test]
    fn of_several_heads_the_one_that_is_followed_comes_first() {
        let follows =
            |to: &str| Reason { kind: Kind::new("show").unwrap(), because: Because::Follows(of(to)) };
        let check = |value: Value, reasons: &[Reason], expected: &[Head]| {
            let state = State::at(1, [("by", Some(value.clone()))]);
            assert_eq!(heads("by", &state, reasons), expected, "{value:?}");
        };
        let [one, two] = ["author:1", "author:2"].map(of);
        let both = Value::Refs(vec![one.clone(), two.clone()]);
        check(both.clone(), &[], &[Head::Of(one.clone()), Head::Of(two.clone())]);
        check(both, &[follows("author:2"), follows("house:1")], &[Head::Of(two), Head::Of(one.clone())]);
        check(Value::Ref(one.clone()), &[], &[Head::Of(one)]);
        check(Value::text(" Berlin "), &[], &[Head::Text("Berlin".into())]);
        check(Value::text("  "), &[], &[]);
        check(Value::Number(1.0), &[], &[]);
        assert_eq!(heads("by", &State::default(), &[]), []);
    }
}
