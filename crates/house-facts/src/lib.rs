//! What operators and the house itself decide about all of it: which catalogue is in use, what is paused, and how somebody is
//! forgotten. [`edition`] numbers the catalogues, [`pause`] says what an operator stopped, [`erasure`] what is removed of a
//! person and what stays, [`erasure_counts`] counts it. [`tenant_shares`] says how much each tenant gets where several wait. [`day_ring`] says which days lie together, for as long as days live.
//! [`recall`] says what was revoked.
//! [`access_role`] is what a token opens, [`key_scope`] what a key may do, and
//! [`mod@format`] which format of what is persisted a program reads and writes.

pub mod access_role;
pub mod day_ring;
pub mod edition;
pub mod erasure;
pub mod erasure_counts;
pub mod format;
pub mod key_scope;
pub mod pause;
pub mod recall;
pub mod tenant_shares;

pub use access_role::AccessRole;
pub use key_scope::KeyScope;
