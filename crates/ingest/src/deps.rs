//! What the intake is given.

use std::sync::Arc;

use geoip::AddressPlaces;
use wire::{SchemaSource, token::LinkSecret};

use crate::{admission_rules::AdmissionRules, metrics::IngestMetrics};

/// What the intake works with.
#[derive(Clone)]
pub struct Deps {
    pub room: room::Deps,
    /// With what people without an account are told apart.
    pub secret: LinkSecret,
    /// What others wrote with.
    pub schemas: Arc<dyn SchemaSource>,
    /// Where IP addresses are.
    pub places: AddressPlaces,
    pub metrics: IngestMetrics,
}

impl Deps {
    /// By what CloudEvents are judged now.
    pub(crate) fn rules(&self) -> AdmissionRules<'_> {
        AdmissionRules { catalogue: &self.room.catalogue, zones: &self.room.zones, places: &self.places }
    }
}
