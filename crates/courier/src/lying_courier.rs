//! A courier that lies: it keeps every promise but one. Each lie names the promises of
//! [`crate::conformance`] that must catch it; a promise that no lie breaks would be one that nobody knows
//! to hold.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use house_facts::erasure::EraseMode;
use model::{Channel, ReadyId};

use crate::{
    conformance::{BrokenCourierPromise, CourierHarness},
    mime,
    outbox::OutboxMail,
    port::{Courier, CourierEraseRequest, CourierError, HandoverGate, HandoverOutcome, Message},
};

macro_rules! lies {
    ($($(#[$doc:meta])* $lie:ident breaks $($promise:literal),+;)*) => {
        /// What is not true of the courier.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum CourierLie {
            $($(#[$doc])* $lie,)*
        }

        impl CourierLie {
            pub const ALL: &[Self] = &[$(Self::$lie,)*];

            /// The promises that it breaks, by name. It may break more.
            pub fn breaks(self) -> &'static [&'static str] {
                match self {
                    $(Self::$lie => &[$($promise),+],)*
                }
            }
        }
    };
}

lies! {
    /// What it accepted is gone after a crash.
    Forgets breaks "accepted is for good";
    /// The gate is asked again, to be sure.
    AsksTwice breaks "the gate is asked once";
    /// The gate is not asked.
    NeverAsks breaks "the gate is asked once", "stopped leaves nothing";
    /// The gate is asked when the mail has gone.
    AsksLate breaks "the gate is asked first";
    /// The gate's answer is not heeded.
    IgnoresNo breaks "stopped leaves nothing";
    /// The gate is asked before it is known whether the message can go at all.
    AsksForNothing breaks "line breaks are refused";
    /// Line breaks are taken out, and what is left goes.
    MendsLineBreaks breaks "line breaks are refused";
    /// What was handed over twice goes twice.
    Doubles breaks "twice is the same message";
    /// A mail that comes together with others is lost.
    LosesOne breaks "many at once all arrive";
    /// Blanks in a row become one.
    AltersText breaks "text arrives as written";
    /// The body loses a dot at the start of a line.
    AltersDots breaks "text arrives as written";
    /// Further headers are left out.
    DropsHeaders breaks "headers arrive";
    /// Each mail has something random.
    Random breaks "the same message is the same bytes";
    /// It says that it sent what it did not.
    SaysSent breaks "not sent is known";
    /// It says that it did not send what it did.
    SaysNotSent breaks "sent is known";
    /// Says that messages are removed, and keeps them.
    ErasesNothing breaks "erased is gone";
}

/// A courier in memory, honest but for one lie.
pub struct LyingCourier {
    lie: Option<CourierLie>,
    inner: Mutex<LyingCourierState>,
}

#[derive(Default)]
struct LyingCourierState {
    /// Message id, mail.
    arrived: Vec<(String, Vec<u8>)>,
    /// How many mails were written: something that is not the same each time.
    written: usize,
}

impl fmt::Debug for LyingCourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LyingCourier").field("lie", &self.lie).finish_non_exhaustive()
    }
}

impl LyingCourier {
    pub fn new(lie: Option<CourierLie>) -> Self {
        Self { lie, inner: Mutex::default() }
    }

    fn lies(&self, lie: CourierLie) -> bool {
        self.lie == Some(lie)
    }

    fn inner(&self) -> MutexGuard<'_, LyingCourierState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The message as this courier would have it.
    fn twist_message(&self, message: &Message, number: usize) -> Message {
        let mut message = message.clone();
        if self.lies(CourierLie::MendsLineBreaks) {
            message.headline = message.headline.replace(['\r', '\n', '\0'], " ");
        }
        if self.lies(CourierLie::AltersText) {
            message.headline = message.headline.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if self.lies(CourierLie::AltersDots) {
            message.text = message.text.replace("\n.", "\n");
        }
        message.with_mail(|mail| {
            if self.lies(CourierLie::DropsHeaders) {
                mail.headers.clear();
            }
            if self.lies(CourierLie::Random) {
                mail.headers.push(("X-Number".to_owned(), number.to_string()));
            }
        })
    }

    async fn ask_gate(&self, gate: &dyn HandoverGate) -> bool {
        match self.lie {
            Some(CourierLie::NeverAsks | CourierLie::AsksLate) => true,
            Some(CourierLie::AsksTwice) => gate.may_go().await && gate.may_go().await,
            Some(CourierLie::IgnoresNo) => {
                let _unheard = gate.may_go().await;
                true
            }
            _ => gate.may_go().await,
        }
    }

    fn store_mail(&self, id: &str, bytes: Vec<u8>) {
        let mut inner = self.inner();
        let there = inner.arrived.iter().any(|(other, _)| other == id);
        if self.lies(CourierLie::LosesOne) && inner.arrived.len() == 20 {
            return;
        }
        if !there || self.lies(CourierLie::Doubles) {
            inner.arrived.push((id.to_owned(), bytes));
        }
    }
}

#[async_trait]
impl Courier for LyingCourier {
    async fn hand(
        &self,
        message: &Message,
        gate: &dyn HandoverGate,
    ) -> Result<HandoverOutcome, CourierError> {
        let number = {
            let mut inner = self.inner();
            inner.written += 1;
            inner.written
        };
        let written = mime::write_message(&self.twist_message(message, number));
        if self.lies(CourierLie::AsksForNothing) && written.is_err() {
            let _unheard = gate.may_go().await;
        }
        let written = match written {
            Ok(written) => written,
            Err(unfit) => return Ok(HandoverOutcome::Refused(unfit.to_string())),
        };
        if !self.ask_gate(gate).await {
            return Ok(HandoverOutcome::Stopped);
        }
        self.store_mail(&written.message_id, written.bytes);
        if self.lies(CourierLie::AsksLate) && !gate.may_go().await {
            self.inner().arrived.retain(|(id, _)| *id != written.message_id);
            return Ok(HandoverOutcome::Stopped);
        }
        Ok(HandoverOutcome::Accepted)
    }

    async fn was_sent(&self, _channel: Channel, message_id: &str) -> Result<Option<bool>, CourierError> {
        let id = mime::bare_id(message_id);
        let there = self.inner().arrived.iter().any(|(other, _)| Some(other.as_str()) == id);
        Ok(match there {
            true if self.lies(CourierLie::SaysNotSent) => Some(false),
            false if self.lies(CourierLie::SaysSent) => Some(true),
            true => Some(true),
            false => Some(false),
        })
    }

    async fn erase(&self, whose: &CourierEraseRequest, how: EraseMode) -> Result<Option<u64>, CourierError> {
        let of = |mail: &[u8]| {
            let ready = OutboxMail::parse(mail.to_vec()).header(mime::READY_HEADER).and_then(ReadyId::parse);
            ready.is_some_and(|ready| whose.readys.contains(&ready))
        };
        let mut inner = self.inner();
        let found = inner.arrived.iter().filter(|(_, mail)| of(mail)).count();
        if how == EraseMode::Remove && !self.lies(CourierLie::ErasesNothing) {
            inner.arrived.retain(|(_, mail)| !of(mail));
        }
        Ok(Some(found as u64))
    }
}

/// The suite's way to a lying courier.
#[derive(Debug)]
pub struct LyingCourierHarness {
    lie: Option<CourierLie>,
    courier: Mutex<Arc<LyingCourier>>,
    opened: Mutex<usize>,
}

impl LyingCourierHarness {
    pub fn new(lie: Option<CourierLie>) -> Self {
        Self { lie, courier: Mutex::new(Arc::new(LyingCourier::new(lie))), opened: Mutex::default() }
    }

    fn courier(&self) -> Arc<LyingCourier> {
        Arc::clone(&self.courier.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl CourierHarness for LyingCourierHarness {
    async fn open(&self) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        let courier = Arc::new(LyingCourier::new(self.lie));
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        *opened += 1;
        courier.inner().written = *opened * 1_000;
        *self.courier.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&courier);
        Ok(courier)
    }

    async fn crash(&self, courier: Arc<dyn Courier>) -> Result<Arc<dyn Courier>, BrokenCourierPromise> {
        drop(courier);
        let courier = self.courier();
        if self.lie == Some(CourierLie::Forgets) {
            courier.inner().arrived.clear();
        }
        Ok(courier)
    }

    async fn arrived_mails(&self) -> Result<Vec<Vec<u8>>, BrokenCourierPromise> {
        Ok(self.courier().inner().arrived.iter().map(|(_, mail)| mail.clone()).collect())
    }

    fn knows_sent(&self) -> bool {
        true
    }
}
