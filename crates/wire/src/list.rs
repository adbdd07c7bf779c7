//! Lists as serde sees them: bounded when they are read, and when they are written, so that what is
//! written can be read. Used as `#[serde(with = "list")]`.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, SeqAccess, Visitor},
    ser::Error as _,
};

use crate::codec::LIST_MAX;

pub(crate) fn serialize<T: Serialize, S: Serializer>(items: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    if items.len() > LIST_MAX {
        return Err(S::Error::custom(format!("a list of {}, more than {LIST_MAX}", items.len())));
    }
    items.serialize(serializer)
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(BoundedListVisitor(PhantomData))
}

struct BoundedListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BoundedListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        // The length that is claimed is not believed.
        let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(64));
        while let Some(item) = seq.next_element()? {
            if items.len() == LIST_MAX {
                return Err(A::Error::custom(format!("a list of more than {LIST_MAX}")));
            }
            items.push(item);
        }
        Ok(items)
    }
}
