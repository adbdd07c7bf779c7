//! By what CloudEvents are judged.

use catalogue::Catalogue;
use geoip::AddressPlaces;
use model::civil_time::ZoneRules;

/// What is known when a CloudEvent is judged.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRules<'a> {
    pub catalogue: &'a Catalogue,
    pub zones: &'a ZoneRules,
    /// Where IP addresses are.
    pub places: &'a AddressPlaces,
}
