//! Fields of preferences: what each says, and for which place.

use model::{Channel, Kind, SubjectRef, ValueCell, VersionedState};

use crate::{
    PreferenceChoice, PreferenceField, PreferenceScope, ReadingPlace, subscribed_subject, subscribers_target,
};

fn state_of(
    words: &[(PreferenceScope<'_>, Option<ReadingPlace>, Option<PreferenceChoice>)],
) -> VersionedState {
    let mut state = VersionedState::default();
    for (scope, place, choice) in words {
        let value = Some(PreferenceChoice::to_value(*choice));
        state.set(&scope.field(*place), ValueCell { version: 1, value });
    }
    state
}

#[test]
fn the_word_of_a_place_stands_before_that_for_all() {
    let kind = Kind::new("edited").unwrap();
    let scope = PreferenceScope::Kind(&kind);
    let both = state_of(&[
        (scope, None, Some(PreferenceChoice::Off)),
        (scope, Some(Channel::Push.into()), Some(PreferenceChoice::Digest)),
        (scope, Some(ReadingPlace::Feed), Some(PreferenceChoice::On)),
    ]);
    let found = |place| scope.choice_in(&both, place);
    assert_eq!(found(Channel::Push.into()), Some((PreferenceChoice::Digest, "push/kind edited".to_owned())));
    assert_eq!(found(Channel::Email.into()), Some((PreferenceChoice::Off, "kind edited".to_owned())));
    assert_eq!(found(ReadingPlace::Feed), Some((PreferenceChoice::On, "feed/kind edited".to_owned())));
    let taken_back = state_of(&[(scope, Some(Channel::Push.into()), None)]);
    assert_eq!(scope.choice_in(&taken_back, Channel::Push.into()), None);
}

#[test]
fn of_one_version_off_stands() {
    let values = [None, Some(PreferenceChoice::On), Some(PreferenceChoice::Digest)];
    let off = PreferenceChoice::to_value(Some(PreferenceChoice::Off));
    for other in values {
        assert!(PreferenceChoice::to_value(other) < off, "{other:?}");
    }
    for choice in PreferenceChoice::ALL {
        assert_eq!(PreferenceChoice::from_value(&PreferenceChoice::to_value(Some(choice))), Some(choice));
    }
}

#[test]
fn fields_and_targets_lead_back() {
    let (kind, page) = (Kind::new("edited").unwrap(), SubjectRef::new("page:a/b: c@d").unwrap());
    let scopes = [
        (PreferenceScope::About(&kind, &page), "about", "edited page:a/b: c@d"),
        (PreferenceScope::Thread(&page), "thread", "page:a/b: c@d"),
        (PreferenceScope::All, "all", ""),
    ];
    for (scope, sort, of) in scopes {
        for place in [None, Some(ReadingPlace::Feed), Some(Channel::Email.into())] {
            let parts = PreferenceField { place: place.map(ReadingPlace::name), sort, of };
            assert_eq!(PreferenceField::parse(&scope.field(place)), parts);
        }
    }
    for kind in [None, Some(&kind)] {
        assert_eq!(subscribed_subject(&subscribers_target(kind, &page).unwrap()), Some(page.clone()));
    }
    assert_eq!(subscribed_subject(&page), None);
}
