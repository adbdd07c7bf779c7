//! What operators do to a house: [`replay`] re-sends a topic's records, [`repartition`] moves to another count of partitions,
//! [`archive`] writes days to a file before they expire, [`state`] mends records of `windows` that cannot be read, and
//! [`quarantine`] is the dead-letter queue. [`return_guard`] pauses a plan whose mails come
//! back, and [`metrics`] tells what waits for an operator.

pub mod archive;
pub mod metrics;
pub mod quarantine;
pub mod repartition;
pub mod replay;
pub mod return_guard;
pub mod state;
