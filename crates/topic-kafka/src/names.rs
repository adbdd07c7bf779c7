//! Names as the house knows them, and as the cluster does.

use std::sync::Arc;

use topic::port::TopicName;

use crate::settings::Settings;

/// A topic under both of its names.
#[derive(Clone, Debug)]
pub struct Named {
    pub name: TopicName,
    /// As the cluster knows it.
    pub wire: Arc<str>,
}

impl Named {
    pub fn new(settings: &Settings, name: &str) -> Self {
        Self { name: name.into(), wire: topic(settings, name).into() }
    }
}

/// A topic's name on the cluster.
pub fn topic(settings: &Settings, name: &str) -> String {
    if settings.foreign.contains(name) { name.to_owned() } else { prefixed(settings, name) }
}

/// The name of a group or of a transactional id.
pub fn prefixed(settings: &Settings, name: &str) -> String {
    format!("{}{name}", settings.prefix)
}
