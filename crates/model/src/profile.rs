//! Names of the fields of a person's profile that Tidings itself reads, and where a person is by them.

use crate::{
    fault::{self, PlantedFault},
    value::{GeoPoint, Value, ValueCell, VersionedState},
};

/// IANA zone, `Europe/Berlin`.
pub const ZONE: &str = "zone";
/// Address for the e-mail channel.
pub const EMAIL: &str = "email";
/// How to greet.
pub const NAME: &str = "name";
/// BCP 47 language tag.
pub const LANGUAGE: &str = "language";
/// A flag: no mail, please.
pub const EMAIL_OFF: &str = "email_off";
/// A flag: no push, please.
pub const PUSH_OFF: &str = "push_off";
/// Where the person is.
pub const PLACE: &str = "place";
/// Roughly where their last IP address is. It counts where there is no [`PLACE`], and only the house writes it.
pub const PLACE_BY_ADDRESS: &str = "place_by_address";
/// The last IP address, as it is stated. It is looked up and not kept.
pub const IP_ADDRESS: &str = "ip_address";
/// The plan by which the person wants their mail, of those that a kind offers.
pub const EMAIL_PLAN: &str = "email_plan";
/// The same for push.
pub const PUSH_PLAN: &str = "push_plan";
/// The hours in which the person does not want to be disturbed, `22:00-08:00`.
pub const QUIET: &str = "quiet";
/// The date until which the person wants quiet, `2026-12-24`: from its beginning on messages come again.
pub const QUIET_UNTIL: &str = "quiet_until";
/// The hour at which the person wants what comes once on a date, `18:00`.
pub const HOUR: &str = "hour";

/// Where a place of a person comes from. Each has cells of its own in the profile and on the globe, so that what is said of
/// one never undoes what was said of the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlaceOrigin {
    /// It was stated.
    Stated,
    /// It is where their last IP address is.
    Address,
}

impl PlaceOrigin {
    /// The one that counts first.
    pub const ALL: [Self; 2] = [Self::Stated, Self::Address];

    /// The field of a profile that has it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Stated => PLACE,
            Self::Address => PLACE_BY_ADDRESS,
        }
    }
}

/// Where somebody is taken to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PersonPlace {
    pub at: GeoPoint,
    pub origin: PlaceOrigin,
    /// The version from which it counts.
    pub since: i64,
}

/// The place that counts: the one that is stated, else that of the last IP address.
pub fn find_place(profile: &VersionedState) -> Option<PersonPlace> {
    let [first, second] = if fault::is_planted(PlantedFault::AddressFirst) {
        [PlaceOrigin::Address, PlaceOrigin::Stated]
    } else {
        PlaceOrigin::ALL
    };
    let cell = |origin: PlaceOrigin| profile.cells.get(origin.field());
    let place = |origin: PlaceOrigin| {
        let ValueCell { version, value: Some(Value::Place(at)) } = cell(origin)? else { return None };
        Some(PersonPlace { at: *at, origin, since: *version })
    };
    place(first).or_else(|| {
        let found = place(second)?;
        // It began to count when the first one ended, if that was later.
        let ended = cell(first).map_or(found.since, |gone| gone.version);
        Some(PersonPlace { since: found.since.max(ended), ..found })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_place_counts_before_that_of_an_address() {
        let (here, there) = (GeoPoint { lat: 52.5, lon: 13.4 }, GeoPoint { lat: 48.1, lon: 11.6 });
        let check = |stated: Option<(i64, Option<GeoPoint>)>,
                     by_address: Option<(i64, Option<GeoPoint>)>,
                     expected| {
            let mut profile = VersionedState::default();
            for (origin, said) in PlaceOrigin::ALL.into_iter().zip([stated, by_address]) {
                if let Some((version, at)) = said {
                    profile.set(origin.field(), ValueCell { version, value: at.map(Value::Place) });
                }
            }
            let found = find_place(&profile).map(|PersonPlace { at, origin, since }| (at, origin, since));
            assert_eq!(found, expected, "{stated:?} {by_address:?}");
        };
        let (stated, address) = (PlaceOrigin::Stated, PlaceOrigin::Address);
        check(None, None, None);
        check(Some((1, Some(here))), None, Some((here, stated, 1)));
        check(None, Some((1, Some(there))), Some((there, address, 1)));
        // Whichever is newer.
        check(Some((1, Some(here))), Some((2, Some(there))), Some((here, stated, 1)));
        check(Some((2, Some(here))), Some((1, Some(there))), Some((here, stated, 2)));
        // Since it is the only one.
        check(Some((3, None)), Some((1, Some(there))), Some((there, address, 3)));
        check(Some((3, None)), Some((4, Some(there))), Some((there, address, 4)));
        check(Some((3, Some(here))), Some((4, None)), Some((here, stated, 3)));
        check(Some((3, None)), Some((4, None)), None);
        check(Some((3, None)), None, None);
        check(None, Some((3, None)), None);
    }

    #[test]
    fn what_is_no_place_is_none() {
        let text = VersionedState::from_values(1, [(PLACE, Some(Value::from_text("52.5,13.4")))]);
        assert_eq!(find_place(&text), None);
    }
}
