//! A log around another: a decorator that frames, counts, watches or breaks some calls overrides those, and hands all others
//! to the log within.
//!
//! A type that implements [`TopicsDecorator`] is a [`Topics`] thereby, and one that implements [`MemberDecorator`] a
//! [`Member`]. A new method of the port is one more line here, and no decorator changes.

use std::fmt;

use async_trait::async_trait;

use crate::port::{
    CommitError, GroupMembership, GroupStanding, Member, MemberEvent, NewRecord, RecordBatch, TopicError,
    TopicName, TopicOffsets, TopicRecord, TopicSpec, Topics, Turn,
};

macro_rules! decorate_topics {
    ($($method:ident($($arg:ident: $type:ty),*) -> $answer:ty;)+) => {
        /// The methods of the port, as `around` is told them.
        pub const TOPICS_OPERATIONS: &[&str] = &[$(stringify!($method)),+];

        /// A log around another; each method hands on unless it is overridden.
        #[async_trait]
        pub trait TopicsDecorator: Send + Sync + fmt::Debug {
            /// Whether `repeat` may ask a call more than once: only then its arguments are kept.
            const REPEATS: bool = false;

            /// The log within.
            fn inner(&self) -> &dyn Topics;

            /// Stands around every call: before it, after it, or instead of its answer. The operation is its method.
            async fn around<T: Send>(
                &self,
                _operation: &'static str,
                call: impl Future<Output = Result<T, TopicError>> + Send,
            ) -> Result<T, TopicError> {
                call.await
            }

            /// Asks a call, as often as it takes.
            async fn repeat<T: Send, F: Future<Output = Result<T, TopicError>> + Send>(
                &self,
                ask: impl Fn() -> F + Send + Sync,
            ) -> Result<T, TopicError> {
                ask().await
            }

            $(async fn $method(&self, $($arg: $type),*) -> Result<$answer, TopicError> {
                self.inner().$method($($arg),*).await
            })+
        }

        #[async_trait]
        impl<D: TopicsDecorator> Topics for D {
            $(async fn $method(&self, $($arg: $type),*) -> Result<$answer, TopicError> {
                if D::REPEATS {
                    let ask = || self.around(stringify!($method), TopicsDecorator::$method(self, $(Clone::clone(&$arg)),*));
                    return self.repeat(ask).await;
                }
                self.around(stringify!($method), TopicsDecorator::$method(self, $($arg),*)).await
            })+
        }
    };
}

decorate_topics! {
    declare(specs: &[TopicSpec]) -> ();
    find_unfit(specs: &[TopicSpec]) -> Vec<String>;
    append(records: Vec<NewRecord>) -> ();
    read(topic: &str, partition: u32, from: u64, most: usize) -> Vec<TopicRecord>;
    appended_at(topic: &str, partition: u32, from: u64) -> Option<i64>;
    bounds(topic: &str) -> Vec<(u64, u64)>;
    since(topic: &str, at: i64) -> Vec<u64>;
    standing(group: &str, topic: &str) -> Vec<GroupStanding>;
    has_members(group: &str) -> bool;
    remove(topics: &[TopicName]) -> ();
    blank(records: &[(TopicName, u32, u64)]) -> bool;
    life(topic: &str) -> Option<i64>;
    join(membership: GroupMembership) -> Box<dyn Member>;
}

/// A member around another; each method hands on unless it is overridden. Two do not, so that a decorator of `next` and
/// `commit` sees all records and all turns: `take_more` has none, and `commit_all` commits one turn after the other.
#[async_trait]
pub trait MemberDecorator: Send + Sync {
    /// The member within.
    fn inner(&self) -> &dyn Member;
    fn inner_mut(&mut self) -> &mut dyn Member;

    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        self.inner_mut().next(most).await
    }

    async fn take_more(&mut self, _but: &[u32], _most: usize) -> Result<Option<RecordBatch>, TopicError> {
        Ok(None)
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        self.inner().restore(partition).await
    }

    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        self.inner().ends(partition).await
    }

    fn positions(&self, partition: u32) -> TopicOffsets {
        self.inner().positions(partition)
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        self.inner_mut().commit(turn).await
    }

    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        let mut outcomes = Vec::with_capacity(turns.len());
        for turn in turns {
            outcomes.push(MemberDecorator::commit(self, turn).await);
        }
        outcomes
    }

    fn hold(&mut self, partition: u32) {
        self.inner_mut().hold(partition);
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        self.inner_mut().rewind(partition).await
    }
}

#[async_trait]
impl<D: MemberDecorator> Member for D {
    async fn next(&mut self, most: usize) -> Result<MemberEvent, TopicError> {
        MemberDecorator::next(self, most).await
    }

    async fn take_more(&mut self, but: &[u32], most: usize) -> Result<Option<RecordBatch>, TopicError> {
        MemberDecorator::take_more(self, but, most).await
    }

    async fn restore(&self, partition: u32) -> Result<Vec<TopicRecord>, TopicError> {
        MemberDecorator::restore(self, partition).await
    }

    async fn ends(&self, partition: u32) -> Result<TopicOffsets, TopicError> {
        MemberDecorator::ends(self, partition).await
    }

    fn positions(&self, partition: u32) -> TopicOffsets {
        MemberDecorator::positions(self, partition)
    }

    async fn commit(&mut self, turn: Turn) -> Result<(), CommitError> {
        MemberDecorator::commit(self, turn).await
    }

    async fn commit_all(&mut self, turns: Vec<Turn>) -> Vec<Result<(), CommitError>> {
        MemberDecorator::commit_all(self, turns).await
    }

    fn hold(&mut self, partition: u32) {
        MemberDecorator::hold(self, partition);
    }

    async fn rewind(&mut self, partition: u32) -> Result<(), TopicError> {
        MemberDecorator::rewind(self, partition).await
    }
}
