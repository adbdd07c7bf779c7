//! What a span says once it has ended: what was done, when, and of which trace it is.

use std::sync::Arc;

use model::trace::TraceContext;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SpanName {
    /// A request with changes is answered.
    Accept,
    /// A change is taken from a topic.
    TakeUp,
    /// Those who care about an event are found and written to.
    Resolve,
    /// A slice of a large audience is told.
    Slice,
    /// An announcement comes to the windows of its persons.
    Gather,
    /// A window closes into a message.
    Tell,
    /// A message is delivered.
    Send,
    /// Its words are made.
    Render,
    /// It is given to whoever takes it further.
    HandOver,
    /// The digest hears what became of it.
    Report,
}

impl SpanName {
    pub const ALL: [Self; 10] = [
        Self::Accept,
        Self::TakeUp,
        Self::Resolve,
        Self::Slice,
        Self::Gather,
        Self::Tell,
        Self::Send,
        Self::Render,
        Self::HandOver,
        Self::Report,
    ];

    /// As receivers see it: the room first.
    pub fn text(self) -> &'static str {
        match self {
            Self::Accept => "ingest accept",
            Self::TakeUp => "ingest take up",
            Self::Resolve => "fanout resolve",
            Self::Slice => "fanout slice",
            Self::Gather => "digest gather",
            Self::Tell => "digest tell",
            Self::Send => "sender send",
            Self::Render => "sender render",
            Self::HandOver => "sender hand over",
            Self::Report => "digest report",
        }
    }
}

/// What a span may say. There is no other attribute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SpanAttribute {
    Tenant,
    Path,
    Kinds,
    Plan,
    Channel,
    Outcome,
    Event,
    Ready,
    Attempt,
    Items,
    Persons,
    Rows,
    Slices,
    Entries,
}

impl SpanAttribute {
    pub const ALL: [Self; 14] = [
        Self::Tenant,
        Self::Path,
        Self::Kinds,
        Self::Plan,
        Self::Channel,
        Self::Outcome,
        Self::Event,
        Self::Ready,
        Self::Attempt,
        Self::Items,
        Self::Persons,
        Self::Rows,
        Self::Slices,
        Self::Entries,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Self::Tenant => "tidings.tenant",
            Self::Path => "tidings.path",
            Self::Kinds => "tidings.kinds",
            Self::Plan => "tidings.plan",
            Self::Channel => "tidings.channel",
            Self::Outcome => "tidings.outcome",
            Self::Event => "tidings.event",
            Self::Ready => "tidings.ready",
            Self::Attempt => "tidings.attempt",
            Self::Items => "tidings.items",
            Self::Persons => "tidings.persons",
            Self::Rows => "tidings.rows",
            Self::Slices => "tidings.slices",
            Self::Entries => "tidings.entries",
        }
    }
}

/// What an attribute is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeValue {
    Text(String),
    Count(i64),
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<usize> for AttributeValue {
    fn from(count: usize) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// A span that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedSpan {
    pub name: SpanName,
    pub context: TraceContext,
    pub parent: Option<[u8; 8]>,
    pub state: Option<Arc<str>>,
    pub links: Vec<TraceContext>,
    /// Links for which there was no room.
    pub links_dropped: usize,
    /// When it began, in nanoseconds of UTC.
    pub began: u64,
    pub nanoseconds: u64,
    pub attributes: Vec<(SpanAttribute, AttributeValue)>,
    pub has_failed: bool,
}
