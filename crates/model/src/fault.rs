//! Planted faults: each law's property must be seen to fail on one. Only tests turn the feature on;
//! without it `is_planted` is `false` at compile time and the branches are gone.

/// Every fault that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedFault {
    /// Law 1: a second reason of the same entry is dropped.
    FirstReasonOnly,
    /// Law 1: an event's time is that of whoever told of it last.
    LastTimeStands,
    /// Law 2: a mark covers whatever is in the day when it is read.
    MarkCoversAll,
    /// Law 2: a mark covers of each bundle what stands for it, and not what it stands for.
    BundleHalfMarked,
    /// Law 3: any time is accepted.
    TimeUnchecked,
    /// Law 3: a window closes before its task has read to the end it knew of.
    ClosesUnread,
    /// Law 4: announced before stored.
    AnnouncedFirst,
    /// Law 4: who moves leaves the old place before the profile names the new one.
    LeftFirst,
    /// Law 4: an older version overrides a newer.
    OlderWins,
    /// Law 5: who asks for the partition of a person is sent to one of two.
    AnotherOwner,
    /// Law 6: marks owed are forgotten at the commit.
    OwedForgotten,
    /// Law 6: the Ready's id leaves the window's opening out.
    IdWithoutOpening,
    /// Law 7: whoever finds a claim sends all the same.
    ClaimIgnored,
    /// Law 7: whoever was turned away before they claimed records it all the same.
    RecordedUnclaimed,
    /// Law 8: what has no room where it would wait comes back without asking the journal.
    BackUnasked,
    /// Law 8: what is over a budget vanishes instead of being carried.
    OverflowDropped,
    /// Law 8: a subject that is said once within the look-back is said again in a later message.
    ToldAgain,
    /// Law 8: what a closing leaves is due again as it is left.
    DueAsLeft,
    /// Law 8: neither quiet hours nor caps nor presence hold anything.
    HeldByNothing,
    /// Law 8: a window closes after half of the time that its plan says.
    ClosesEarly,
    /// Law 8: what ended for any reason has what follows told at once.
    HurriedByEnded,
    /// Law 8: what was put off does not come back.
    NeverBack,
    /// Law 9: nothing is checked again before the claim.
    UncheckedAtEnd,
    /// Law 9: what was read long before the claim is not read again.
    StaleAtTheGate,
    /// Law 9: what was revoked is told all the same.
    RevokedTold,
    /// Law 10: a day is 24 hours.
    DayIs24Hours,
    /// Law 10: no month has a 31st.
    MonthHas30Days,
    /// Law 11: a full day is never noticed.
    NeverFull,
    /// Law 11: a Ready takes all reasons of its entries.
    AllReasons,
    /// Law 12: the tenant is left out of the key of a day.
    TenantForgotten,
    /// Law 13: the walk goes on although a slice was not stored.
    SliceSkipped,
    /// Law 13: of a crowd that is cut the last part is not told.
    PartForgotten,
    /// Law 13: the place of an IP address counts before the one that is stated.
    AddressFirst,
    /// Law 14: an erasure passes over what the person follows.
    CrowdsKept,
    /// Law 14: an erasure is told to be done before what was in flight has landed.
    ErasedOnce,
    /// Law 15: the digest has one catalogue for everybody.
    CanaryForgotten,
    /// Law 16: what is urgent lies among all else that is due.
    OneLane,
    /// Law 17: what is chosen of a kind stands before what is chosen of one thing.
    FartherWord,
    /// Law 18: of all that was seen it is forgotten when.
    SeenIsOne,
    /// Law 18: the place of a bundle alone says whether a reader was given it.
    PlaceIsEnough,
    /// Law 18: an entry that a feed lists no more stays in its bundle until all is made anew.
    GoneStays,
}

impl PlantedFault {
    pub const ALL: [Self; 41] = [
        Self::FirstReasonOnly,
        Self::LastTimeStands,
        Self::MarkCoversAll,
        Self::BundleHalfMarked,
        Self::TimeUnchecked,
        Self::ClosesUnread,
        Self::AnnouncedFirst,
        Self::LeftFirst,
        Self::OlderWins,
        Self::AnotherOwner,
        Self::OwedForgotten,
        Self::IdWithoutOpening,
        Self::ClaimIgnored,
        Self::RecordedUnclaimed,
        Self::BackUnasked,
        Self::OverflowDropped,
        Self::ToldAgain,
        Self::DueAsLeft,
        Self::HeldByNothing,
        Self::ClosesEarly,
        Self::HurriedByEnded,
        Self::NeverBack,
        Self::UncheckedAtEnd,
        Self::StaleAtTheGate,
        Self::RevokedTold,
        Self::DayIs24Hours,
        Self::MonthHas30Days,
        Self::NeverFull,
        Self::AllReasons,
        Self::TenantForgotten,
        Self::SliceSkipped,
        Self::PartForgotten,
        Self::AddressFirst,
        Self::CrowdsKept,
        Self::ErasedOnce,
        Self::CanaryForgotten,
        Self::OneLane,
        Self::FartherWord,
        Self::SeenIsOne,
        Self::PlaceIsEnough,
        Self::GoneStays,
    ];

    /// The name by which a test plants it, in the environment variable `TIDINGS_FAULT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstReasonOnly => "first-reason-only",
            Self::LastTimeStands => "last-time-stands",
            Self::MarkCoversAll => "mark-covers-all",
            Self::BundleHalfMarked => "bundle-half-marked",
            Self::TimeUnchecked => "time-unchecked",
            Self::ClosesUnread => "closes-unread",
            Self::AnnouncedFirst => "announced-first",
            Self::LeftFirst => "left-first",
            Self::OlderWins => "older-wins",
            Self::AnotherOwner => "another-owner",
            Self::OwedForgotten => "owed-forgotten",
            Self::IdWithoutOpening => "id-without-opening",
            Self::ClaimIgnored => "claim-ignored",
            Self::RecordedUnclaimed => "recorded-unclaimed",
            Self::BackUnasked => "back-unasked",
            Self::OverflowDropped => "overflow-dropped",
            Self::ToldAgain => "told-again",
            Self::DueAsLeft => "due-as-left",
            Self::HeldByNothing => "held-by-nothing",
            Self::ClosesEarly => "closes-early",
            Self::HurriedByEnded => "hurried-by-ended",
            Self::NeverBack => "never-back",
            Self::UncheckedAtEnd => "unchecked-at-end",
            Self::StaleAtTheGate => "stale-at-the-gate",
            Self::RevokedTold => "revoked-told",
            Self::DayIs24Hours => "day-is-24-hours",
            Self::MonthHas30Days => "month-has-30-days",
            Self::NeverFull => "never-full",
            Self::AllReasons => "all-reasons",
            Self::TenantForgotten => "tenant-forgotten",
            Self::SliceSkipped => "slice-skipped",
            Self::PartForgotten => "part-forgotten",
            Self::AddressFirst => "address-first",
            Self::CrowdsKept => "crowds-kept",
            Self::ErasedOnce => "erased-once",
            Self::CanaryForgotten => "canary-forgotten",
            Self::OneLane => "one-lane",
            Self::FartherWord => "farther-word",
            Self::SeenIsOne => "seen-is-one",
            Self::PlaceIsEnough => "place-is-enough",
            Self::GoneStays => "gone-stays",
        }
    }
}

/// The environment variable by which a fault is planted.
pub const VARIABLE: &str = "TIDINGS_FAULT";

/// A name in the variable that is not a fault: a test that plants nothing would prove nothing.
pub fn find_misspelt() -> Option<String> {
    let name = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())?;
    (!CAN_PLANT || PlantedFault::ALL.into_iter().all(|fault| fault.name() != name)).then_some(name)
}

/// Whether this program can plant faults at all.
pub const CAN_PLANT: bool = cfg!(feature = "faults");

/// Whether a fault is planted in this process.
#[cfg(feature = "faults")]
pub fn is_planted(fault: PlantedFault) -> bool {
    use std::sync::OnceLock;
    static PLANTED: OnceLock<Option<PlantedFault>> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| {
        let name = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())?;
        let found = PlantedFault::ALL.into_iter().find(|fault| fault.name() == name);
        assert!(found.is_some(), "`{name}` of {VARIABLE} is not a fault");
        found
    });
    *planted == Some(fault)
}

/// Whether a fault is planted in this process: never, without the feature.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub const fn is_planted(_: PlantedFault) -> bool {
    false
}
