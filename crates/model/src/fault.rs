//! Planted faults: each law's property must be seen to fail on one. Only tests turn the feature on;
//! without it `is_planted` is `false` at compile time and the branches are gone.

macro_rules! planted_faults {
    ($($(#[$doc:meta])* $variant:ident => $name:literal;)*) => {
        /// Every fault that can be planted.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum PlantedFault { $($(#[$doc])* $variant,)* }

        impl PlantedFault {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name by which a test plants it, in the environment variable `TIDINGS_FAULT`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

planted_faults! {
    /// Law 1: a second reason of the same entry is dropped.
    FirstReasonOnly => "first-reason-only";
    /// Law 1: an event's time is that of whoever told of it last.
    LastTimeStands => "last-time-stands";
    /// Law 2: a mark covers whatever is in the day when it is read.
    MarkCoversAll => "mark-covers-all";
    /// Law 2: a mark covers of each bundle what stands for it, and not what it stands for.
    BundleHalfMarked => "bundle-half-marked";
    /// Law 3: any time is accepted.
    TimeUnchecked => "time-unchecked";
    /// Law 3: a window closes before its task has read to the end it knew of.
    ClosesUnread => "closes-unread";
    /// Law 4: announced before stored.
    AnnouncedFirst => "announced-first";
    /// Law 4: who moves leaves the old place before the profile names the new one.
    LeftFirst => "left-first";
    /// Law 4: an older version overrides a newer.
    OlderWins => "older-wins";
    /// Law 5: who asks for the partition of a person is sent to one of two.
    AnotherOwner => "another-owner";
    /// Law 6: marks owed are forgotten at the commit.
    OwedForgotten => "owed-forgotten";
    /// Law 6: the Ready's id leaves the window's opening out.
    IdWithoutOpening => "id-without-opening";
    /// Law 7: whoever finds a claim sends all the same.
    ClaimIgnored => "claim-ignored";
    /// Law 7: whoever was turned away before they claimed records it all the same.
    RecordedUnclaimed => "recorded-unclaimed";
    /// Law 8: what has no room where it would wait comes back without asking the journal.
    BackUnasked => "back-unasked";
    /// Law 8: what is over a budget vanishes instead of being carried.
    OverflowDropped => "overflow-dropped";
    /// Law 8: a subject that is said once within the look-back is said again in a later message.
    ToldAgain => "told-again";
    /// Law 8: what a closing leaves is due again as it is left.
    DueAsLeft => "due-as-left";
    /// Law 8: neither quiet hours nor caps nor presence hold anything.
    HeldByNothing => "held-by-nothing";
    /// Law 8: a window closes after half of the time that its plan says.
    ClosesEarly => "closes-early";
    /// Law 8: what ended for any reason has what follows told at once.
    HurriedByEnded => "hurried-by-ended";
    /// Law 8: what was put off does not come back.
    NeverBack => "never-back";
    /// Law 9: nothing is checked again before the claim.
    UncheckedAtEnd => "unchecked-at-end";
    /// Law 9: what was read long before the claim is not read again.
    StaleAtTheGate => "stale-at-the-gate";
    /// Law 9: what was revoked is told all the same.
    RevokedTold => "revoked-told";
    /// Law 10: a day is 24 hours.
    DayIs24Hours => "day-is-24-hours";
    /// Law 10: no month has a 31st.
    MonthHas30Days => "month-has-30-days";
    /// Law 11: a full day is never noticed.
    NeverFull => "never-full";
    /// Law 11: a Ready takes all reasons of its entries.
    AllReasons => "all-reasons";
    /// Law 12: the tenant is left out of the key of a day.
    TenantForgotten => "tenant-forgotten";
    /// Law 13: the walk goes on although a slice was not stored.
    SliceSkipped => "slice-skipped";
    /// Law 13: of a crowd that is cut the last part is not told.
    PartForgotten => "part-forgotten";
    /// Law 13: the place of an IP address counts before the one that is stated.
    AddressFirst => "address-first";
    /// Law 14: an erasure passes over what the person follows.
    CrowdsKept => "crowds-kept";
    /// Law 14: an erasure is told to be done before what was in flight has landed.
    ErasedOnce => "erased-once";
    /// Law 15: the digest has one catalogue for everybody.
    CanaryForgotten => "canary-forgotten";
    /// Law 16: what is urgent lies among all else that is due.
    OneLane => "one-lane";
    /// Law 17: what is chosen of a kind stands before what is chosen of one thing.
    FartherWord => "farther-word";
    /// Law 18: of all that was seen it is forgotten when.
    SeenIsOne => "seen-is-one";
    /// Law 18: the place of a bundle alone says whether a reader was given it.
    PlaceIsEnough => "place-is-enough";
    /// Law 18: an entry that a feed lists no more stays in its bundle until all is made anew.
    GoneStays => "gone-stays";
    /// Law 19: the list of a mail that follows another puts things where they like.
    ThingsMove => "things-move";
    /// Law 19: the clocks of all processes are taken for one.
    ClocksAgree => "clocks-agree";
}

/// The environment variable by which a fault is planted.
pub const VARIABLE: &str = "TIDINGS_FAULT";

/// A name in the variable that is not a fault: a test that plants nothing would prove nothing.
pub fn find_misspelt() -> Option<String> {
    let name = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty())?;
    (!CAN_PLANT || PlantedFault::ALL.iter().all(|fault| fault.name() != name)).then_some(name)
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
        let found = PlantedFault::ALL.iter().copied().find(|fault| fault.name() == name);
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
