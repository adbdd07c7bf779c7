//! What operators and the house itself decide about all of it: which catalogue is in use, what is paused, and how somebody is
//! forgotten. [`edition`] numbers the catalogues, [`pause`] says what an operator stopped, [`erasure`] what is removed of a
//! person and what stays, [`erasure_counts`] counts it. [`tenant_shares`] says how much each tenant gets where several wait. [`day_ring`] says which days lie together, for as long as days live.
//! [`mod@format`] is which format of what is persisted a program reads and writes.

pub mod day_ring;
pub mod edition;
pub mod erasure;
pub mod erasure_counts;
pub mod format;
pub mod pause;
pub mod tenant_shares;
