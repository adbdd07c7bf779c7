//! The database that a process uses now.

use std::{
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock},
};

use model::GeoPoint;

use crate::AddressDatabase;

/// Where addresses are, by the database of the moment; nowhere without one. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct AddressPlaces(Arc<RwLock<Option<Arc<AddressDatabase>>>>);

impl AddressPlaces {
    /// Uses another database from here on; returns the one before.
    pub fn replace(&self, database: Option<Arc<AddressDatabase>>) -> Option<Arc<AddressDatabase>> {
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), database)
    }

    /// The database that is in use.
    pub fn database(&self) -> Option<Arc<AddressDatabase>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Roughly where an address is, if that is known.
    pub fn find_place(&self, address: IpAddr) -> Option<GeoPoint> {
        self.database()?.find_place(address)
    }
}
