//! A store around another: a decorator that times, counts, gates or breaks some calls overrides those, and hands all others
//! to the store within.
//!
//! A type that implements [`StoreDecorator`] has every port of a store thereby. A new method of a port is one more line
//! here, and no decorator changes. What a port derives from its other methods, such as `belongs`, it derives here too.

use std::fmt;

use async_trait::async_trait;
use house_facts::erasure::{EraseMode, HoldingCounts};
use model::{
    Crowd, CrowdEnrolment, Day, DayLife, DayRow, EventKey, Person, ReadyId, SubjectRef, Tenant, UtcMillis,
    VersionedState, entry::DayKey, event::FirstWord, returns::Slip,
};

use crate::port::{
    AnswerStore, CrowdCut, CrowdMembers, CrowdStore, DayPart, DayRows, DayStore, ErasureStore,
    FirstWordStore, FollowedSubjects, JournalClaim, JournalClaimOutcome, JournalRecord, JournalRows,
    JournalStore, RemovedCell, SlipStore, StandingAnswer, StateKey, StateStore, Store, StoreError,
    StoreSetup,
};

/// A call of a store's port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreCall {
    /// The method.
    pub operation: &'static str,
    pub effect: CallEffect,
}

/// What a call does to the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEffect {
    Read,
    /// It may be repeated without harm.
    Write,
    /// It tells how much went: asked again, it tells of nothing.
    Removal,
}

macro_rules! decorate_store {
    ($($port:ident {
        $($call:ident $method:ident($($arg:ident: $type:ty),*) -> $answer:ty;)+
    })+) => {
        /// The methods of all ports, as a [`StoreCall`] names them.
        pub const STORE_OPERATIONS: &[&str] = &[$($(stringify!($method)),+),+];

        /// A store around another; each method hands on unless it is overridden.
        #[async_trait]
        pub trait StoreDecorator: Send + Sync + fmt::Debug {
            /// Whether `repeat` may ask a call more than once: only then its arguments are kept.
            const REPEATS: bool = false;

            /// The store within.
            fn inner(&self) -> &dyn Store;

            /// Stands around every call: before it, after it, or instead of its answer.
            async fn around<T: Send>(
                &self,
                _call: StoreCall,
                operation: impl Future<Output = Result<T, StoreError>> + Send,
            ) -> Result<T, StoreError> {
                operation.await
            }

            /// Asks a call, as often as it takes.
            async fn repeat<T: Send, F: Future<Output = Result<T, StoreError>> + Send>(
                &self,
                ask: impl Fn() -> F + Send + Sync,
            ) -> Result<T, StoreError> {
                ask().await
            }

            $($(async fn $method(&self, $($arg: $type),*) -> Result<$answer, StoreError> {
                self.inner().$method($($arg),*).await
            })+)+
        }

        $(#[async_trait]
        impl<D: StoreDecorator> $port for D {
            $(async fn $method(&self, $($arg: $type),*) -> Result<$answer, StoreError> {
                let call = StoreCall { operation: stringify!($method), effect: CallEffect::$call };
                if D::REPEATS {
                    let ask = || {
                        let once = StoreDecorator::$method(self, $(Clone::clone(&$arg)),*);
                        self.around(call, once)
                    };
                    return self.repeat(ask).await;
                }
                self.around(call, StoreDecorator::$method(self, $($arg),*)).await
            })+
        })+
    };
}

impl<D: StoreDecorator> StoreSetup for D {
    fn day_life(&self) -> DayLife {
        self.inner().day_life()
    }
}

decorate_store! {
    DayStore {
        Write write(rows: Vec<DayRows>, now: UtcMillis) -> ();
        Read read(keys: &[DayKey], now: UtcMillis) -> Vec<Vec<DayRow>>;
        Read scan(day: Day, from: Option<&[u8]>, most: usize) -> DayPart;
        Read newest() -> Option<Day>;
        Write close_before(day: Day) -> ();
        Removal drop_before(day: Day) -> u64;
    }
    StateStore {
        Write merge(states: Vec<(StateKey, VersionedState)>) -> ();
        Write forget_removed(key: &StateKey, removed: &[RemovedCell]) -> ();
        Read states(keys: &[StateKey]) -> Vec<VersionedState>;
        Read states_lately(keys: &[StateKey]) -> Vec<VersionedState>;
    }
    CrowdStore {
        Write enrol(enrolments: Vec<CrowdEnrolment>) -> ();
        Read members(tenant: &Tenant, crowd: &Crowd, from: Option<&[u8]>, most: usize) -> CrowdMembers;
        Read cut_crowd(tenant: &Tenant, crowd: &Crowd, cut: CrowdCut<'_>) -> Vec<Vec<u8>>;
        Read list_followed(tenant: &Tenant, person: &Person, behind: Option<&SubjectRef>, most: usize) -> FollowedSubjects;
        Read enrolled_since(of: &[(Tenant, Person, Crowd)]) -> Vec<Option<i64>>;
    }
    JournalStore {
        Write claim(tenant: &Tenant, claim: JournalClaim) -> JournalClaimOutcome;
        Write record(tenant: &Tenant, record: JournalRecord) -> ();
        Read read_journal(tenant: &Tenant, readys: &[ReadyId]) -> Vec<JournalRows>;
    }
    AnswerStore {
        Write put_answer(tenant: &Tenant, key: &str, before: Option<&StandingAnswer>, answer: StandingAnswer, now: UtcMillis) -> StandingAnswer;
        Read find_answer(tenant: &Tenant, key: &str, now: UtcMillis) -> Option<StandingAnswer>;
    }
    FirstWordStore {
        Write first_words(said: &[(EventKey, FirstWord)], now: UtcMillis) -> Vec<FirstWord>;
        Read heard_at(event: EventKey, now: UtcMillis) -> Option<UtcMillis>;
    }
    SlipStore {
        Write keep(ready: ReadyId, slip: Slip) -> ();
        Read slip(ready: ReadyId, now: UtcMillis) -> Option<Slip>;
    }
    ErasureStore {
        Removal erase(tenant: &Tenant, person: &Person, how: EraseMode, now: UtcMillis) -> HoldingCounts;
        Write scrub() -> Option<&'static str>;
    }
}
