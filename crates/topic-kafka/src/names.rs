//! Names as the house knows them, and as the cluster does.

use std::sync::Arc;

use topic::port::TopicName;

use crate::settings::Settings;

/// A topic under both of its names.
#[derive(Clone, Debug)]
pub struct WireTopic {
    pub name: TopicName,
    /// As the cluster knows it.
    pub wire: Arc<str>,
}

impl WireTopic {
    pub fn new(settings: &Settings, name: &str) -> Self {
        Self { name: name.into(), wire: wire_topic(settings, name).into() }
    }
}

/// A topic's name on the cluster.
pub fn wire_topic(settings: &Settings, name: &str) -> String {
    if settings.foreign.contains(name) { name.to_owned() } else { prefixed_name(settings, name) }
}

/// The name of a group or of a transactional id.
pub fn prefixed_name(settings: &Settings, name: &str) -> String {
    format!("{}{name}", settings.prefix)
}
