//! Whole ports of a store that stands around another, where it adds nothing: whoever times, counts or stops some calls writes
//! those, and forwards the rest.

/// Implements these ports for a store by the one in its field `inner`: `forward!(Counting: Journal, Slips)`.
#[macro_export]
macro_rules! forward {
    ($store:ty: $($port:ident),+ $(,)?) => { $($crate::forward!(@$port $store);)+ };
    (@States $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::States for $store {
            async fn merge(&self, states: Vec<($crate::StateKey, model::State)>) -> Result<(), $crate::StoreError> {
                self.inner.merge(states).await
            }

            async fn states(&self, keys: &[$crate::StateKey]) -> Result<Vec<model::State>, $crate::StoreError> {
                self.inner.states(keys).await
            }
        }
    };
    (@Crowds $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::Crowds for $store {
            async fn enrol(&self, enrolments: Vec<model::Enrolment>) -> Result<(), $crate::StoreError> {
                self.inner.enrol(enrolments).await
            }

            async fn members(
                &self,
                tenant: &model::Tenant,
                crowd: &model::Crowd,
                from: Option<&[u8]>,
                most: usize,
            ) -> Result<$crate::Members, $crate::StoreError> {
                self.inner.members(tenant, crowd, from, most).await
            }

            async fn followed(
                &self,
                tenant: &model::Tenant,
                person: &model::Person,
                behind: Option<&model::SubjectRef>,
                most: usize,
            ) -> Result<$crate::Followed, $crate::StoreError> {
                self.inner.followed(tenant, person, behind, most).await
            }

            async fn enrolled(
                &self,
                of: &[(model::Tenant, model::Person, model::Crowd)],
            ) -> Result<Vec<Option<i64>>, $crate::StoreError> {
                self.inner.enrolled(of).await
            }
        }
    };
    (@Journal $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::Journal for $store {
            async fn claim(
                &self,
                tenant: &model::Tenant,
                claim: $crate::Claim,
            ) -> Result<$crate::Claimed, $crate::StoreError> {
                self.inner.claim(tenant, claim).await
            }

            async fn record(
                &self,
                tenant: &model::Tenant,
                record: $crate::Record,
            ) -> Result<(), $crate::StoreError> {
                self.inner.record(tenant, record).await
            }

            async fn journalled(
                &self,
                tenant: &model::Tenant,
                readys: &[model::ReadyId],
            ) -> Result<Vec<$crate::Journalled>, $crate::StoreError> {
                self.inner.journalled(tenant, readys).await
            }
        }
    };
    (@Answers $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::Answers for $store {
            async fn answer(
                &self,
                tenant: &model::Tenant,
                key: &str,
                answer: Vec<u8>,
                now: model::Millis,
            ) -> Result<Vec<u8>, $crate::StoreError> {
                self.inner.answer(tenant, key, answer, now).await
            }

            async fn answered(
                &self,
                tenant: &model::Tenant,
                key: &str,
                now: model::Millis,
            ) -> Result<Option<Vec<u8>>, $crate::StoreError> {
                self.inner.answered(tenant, key, now).await
            }
        }
    };
    (@FirstWords $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::FirstWords for $store {
            async fn first_words(
                &self,
                said: &[(model::EventKey, model::event::FirstWord)],
                now: model::Millis,
            ) -> Result<Vec<model::event::FirstWord>, $crate::StoreError> {
                self.inner.first_words(said, now).await
            }
        }
    };
    (@Slips $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::Slips for $store {
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
                now: model::Millis,
            ) -> Result<Option<model::returns::Slip>, $crate::StoreError> {
                self.inner.slip(ready, now).await
            }
        }
    };
    (@Erasure $store:ty) => {
        #[async_trait::async_trait]
        impl $crate::Erasure for $store {
            async fn erase(
                &self,
                tenant: &model::Tenant,
                person: &model::Person,
                how: model::erase::Erase,
                now: model::Millis,
            ) -> Result<model::erase::Counts, $crate::StoreError> {
                self.inner.erase(tenant, person, how, now).await
            }

            async fn scrub(&self) -> Result<Option<&'static str>, $crate::StoreError> {
                self.inner.scrub().await
            }
        }
    };
}
