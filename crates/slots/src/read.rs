//! What the address of a slot asks, and for whom.

use web::visitor::VisitorClass;
use wire::{
    mail_slots::{self, MailSlots},
    token::LinkSecret,
};

/// A list, as somebody is shown it. What programs fetch is apart from what readers see: it is fetched at another time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AskedList {
    pub slots: MailSlots,
    pub visitor: VisitorClass,
}

impl AskedList {
    /// The key under which it is kept for all processes; what a robot is shown is not kept.
    pub fn answer_key(&self) -> Option<String> {
        let MailSlots { ready, list, .. } = &self.slots;
        match self.visitor {
            VisitorClass::Reader => Some(format!("slots:{ready}:{list}")),
            VisitorClass::Proxy => Some(format!("slots-proxy:{ready}:{list}")),
            VisitorClass::Robot => None,
        }
    }

    /// The same slots as others are shown them.
    pub fn shown_to(&self, visitor: VisitorClass) -> Self {
        Self { slots: self.slots.clone(), visitor }
    }
}

/// A place of a mail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedPlace {
    pub slots: MailSlots,
    /// Counted from 1.
    pub place: usize,
}

impl AskedPlace {
    /// The place that an address names, if the address is one of ours.
    pub fn parse(slots: &str, place: &str, secret: &LinkSecret) -> Option<Self> {
        // One number is written in one way, so that nobody in between keeps a picture twice.
        let is_plain = !place.starts_with('0') && place.bytes().all(|digit| digit.is_ascii_digit());
        let place = place.parse().ok().filter(|_| is_plain)?;
        Some(Self { slots: mail_slots::read_slots(slots, secret)?, place })
    }
}
