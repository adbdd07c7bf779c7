//! Kafka counts offsets and partitions in signed numbers, of which it uses no negative ones for what these convert.

use rdkafka::topic_partition_list::TopicPartitionListElem;

pub fn to_i64(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

pub fn to_u64(offset: i64) -> u64 {
    u64::try_from(offset).unwrap_or_default()
}

pub fn to_i32(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}

pub fn to_u32(partition: i32) -> u32 {
    u32::try_from(partition).unwrap_or_default()
}

/// The partition that an element of a list names.
pub fn partition_of(elem: &TopicPartitionListElem<'_>) -> u32 {
    to_u32(elem.partition())
}
