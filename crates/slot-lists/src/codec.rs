//! A list as it is kept, until its time is over.

use model::{SubjectRef, UtcMillis};
use serde::{Deserialize, Serialize};

use crate::list::{SlotList, SlotThing};

/// The form below. Another form is another number; a list of one that is not known is left alone.
const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct StoredList<'a> {
    generation: u32,
    made: i64,
    until: i64,
    #[serde(borrow)]
    places: Vec<Option<StoredThing<'a>>>,
}

#[derive(Serialize, Deserialize)]
struct StoredThing<'a> {
    subject: &'a str,
    image: &'a str,
    link: &'a str,
}

/// The bytes of a list.
pub fn encode_list(list: &SlotList) -> Vec<u8> {
    let stored = StoredList {
        generation: list.generation,
        made: list.made.0,
        until: list.until.0,
        places: list.places.iter().map(|place| place.as_ref().map(stored_thing)).collect(),
    };
    // Vectors take whatever they are given.
    postcard::to_extend(&stored, vec![VERSION]).unwrap_or_default()
}

fn stored_thing(SlotThing { subject, image, link }: &SlotThing) -> StoredThing<'_> {
    StoredThing { subject: subject.as_str(), image, link }
}

/// The list that these bytes are.
pub fn decode_list(bytes: &[u8]) -> Option<SlotList> {
    let (&VERSION, rest) = bytes.split_first()? else { return None };
    let (stored, rest): (StoredList<'_>, _) = postcard::take_from_bytes(rest).ok()?;
    let thing = |place: Option<StoredThing<'_>>| match place {
        None => Some(None),
        Some(StoredThing { subject, image, link }) => {
            let subject = SubjectRef::new(subject).ok()?;
            Some(Some(SlotThing { subject, image: image.into(), link: link.into() }))
        }
    };
    let places = stored.places.into_iter().map(thing).collect::<Option<_>>()?;
    let (made, until) = (UtcMillis(stored.made), UtcMillis(stored.until));
    rest.is_empty().then_some(SlotList { generation: stored.generation, made, until, places })
}
