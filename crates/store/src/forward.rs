//! Whole ports of a store that stands around another, where it adds nothing: whoever times, counts or stops some calls writes
//! those, and forwards the rest.

/// Implements these ports for a store by the one in its field `inner`: `forward!(Counting: Journal, Slips)`.
#[macro_export]
macro_rules! forward {
    ($store:ty: $($port:ident),+ $(,)?) => { $($crate::forward!(@$port $store);)+ };
    (@States $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::StateStore for $store {
            async fn merge(&self, states: Vec<($crate::StateKey, model::VersionedState)>) -> Result<(), $crate::StoreError> {
                self.inner.merge(states).await
            }

            async fn states(&self, keys: &[$crate::StateKey]) -> Result<Vec<model::VersionedState>, $crate::StoreError> {
                self.inner.states(keys).await
            }
        }
    };
    (@Crowds $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::CrowdStore for $store {
            async fn enrol(&self, enrolments: Vec<model::CrowdEnrolment>) -> Result<(), $crate::StoreError> {
                self.inner.enrol(enrolments).await
            }

            async fn members(
                &self,
                tenant: &model::Tenant,
                crowd: &model::Crowd,
                from: Option<&[u8]>,
                most: usize,
            ) -> Result<$crate::CrowdMembers, $crate::StoreError> {
                self.inner.members(tenant, crowd, from, most).await
            }

            async fn list_followed(
                &self,
                tenant: &model::Tenant,
                person: &model::Person,
                behind: Option<&model::SubjectRef>,
                most: usize,
            ) -> Result<$crate::FollowedSubjects, $crate::StoreError> {
                self.inner.list_followed(tenant, person, behind, most).await
            }

            async fn enrolled_since(
                &self,
                of: &[(model::Tenant, model::Person, model::Crowd)],
            ) -> Result<Vec<Option<i64>>, $crate::StoreError> {
                self.inner.enrolled_since(of).await
            }
        }
    };
    (@Journal $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::JournalStore for $store {
            async fn claim(
                &self,
                tenant: &model::Tenant,
                claim: $crate::JournalClaim,
            ) -> Result<$crate::JournalClaimOutcome, $crate::StoreError> {
                self.inner.claim(tenant, claim).await
            }

            async fn record(
                &self,
                tenant: &model::Tenant,
                record: $crate::JournalRecord,
            ) -> Result<(), $crate::StoreError> {
                self.inner.record(tenant, record).await
            }

            async fn read_journal(
                &self,
                tenant: &model::Tenant,
                readys: &[model::ReadyId],
            ) -> Result<Vec<$crate::JournalRows>, $crate::StoreError> {
                self.inner.read_journal(tenant, readys).await
            }
        }
    };
    (@Answers $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::AnswerStore for $store {
            async fn answer(
                &self,
                tenant: &model::Tenant,
                key: &str,
                answer: Vec<u8>,
                now: model::UtcMillis,
            ) -> Result<Vec<u8>, $crate::StoreError> {
                self.inner.answer(tenant, key, answer, now).await
            }

            async fn find_answer(
                &self,
                tenant: &model::Tenant,
                key: &str,
                now: model::UtcMillis,
            ) -> Result<Option<Vec<u8>>, $crate::StoreError> {
                self.inner.find_answer(tenant, key, now).await
            }
        }
    };
    (@FirstWords $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::FirstWordStore for $store {
            async fn first_words(
                &self,
                said: &[(model::EventKey, model::event::FirstWord)],
                now: model::UtcMillis,
            ) -> Result<Vec<model::event::FirstWord>, $crate::StoreError> {
                self.inner.first_words(said, now).await
            }
        }
    };
    (@Slips $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::SlipStore for $store {
            async fn keep(
                &self,
                ready: model::ReadyId,
                slip: model::returns::Slip,
            ) -> Result<(), $crate::StoreError> {
                self.inner.keep(ready, slip).await
            }

            async fn slip(
                &self,
                ready: model::ReadyId,
                now: model::UtcMillis,
            ) -> Result<Option<model::returns::Slip>, $crate::StoreError> {
                self.inner.slip(ready, now).await
            }
        }
    };
    (@Erasure $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::ErasureStore for $store {
            async fn erase(
                &self,
                tenant: &model::Tenant,
                person: &model::Person,
                how: model::erasure::EraseMode,
                now: model::UtcMillis,
            ) -> Result<model::erasure::HoldingCounts, $crate::StoreError> {
                self.inner.erase(tenant, person, how, now).await
            }

            async fn scrub(&self) -> Result<Option<&'static str>, $crate::StoreError> {
                self.inner.scrub().await
            }
        }
    };
}
