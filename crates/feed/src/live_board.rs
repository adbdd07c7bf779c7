//! Who waits to hear of a person's news. It says that there is something and not what: whoever hears of it asks.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

use crate::facts::TenantPerson;

/// Connections that wait, by whom they are of.
#[derive(Debug, Default)]
pub struct LiveBoard(Mutex<HashMap<TenantPerson, Arc<watch::Sender<()>>>>);

/// The wait of one connection. Whoever drops it waits no more.
pub struct LiveWait {
    board: Arc<LiveBoard>,
    whose: TenantPerson,
    /// Changes with each news.
    pub news: watch::Receiver<()>,
}

impl LiveBoard {
    /// Lets everybody know who waits for one of these.
    pub fn notify(&self, whose: &TenantPerson) {
        let waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = waits.get(whose) {
            sender.send_replace(());
        }
    }

    /// Lets everybody know who waits for one of many: nobody can say of whom there is news.
    pub fn notify_many(&self, is_meant: impl Fn(&TenantPerson) -> bool) {
        let waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waits.iter().filter(|(whose, _)| is_meant(whose)).for_each(|(_, sender)| {
            sender.send_replace(());
        });
    }

    /// Who waits, in no order.
    pub fn list_waiting(&self) -> Vec<TenantPerson> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn subscribe(&self, whose: &TenantPerson) -> watch::Receiver<()> {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waits.entry(whose.clone()).or_insert_with(|| Arc::new(watch::channel(()).0)).subscribe()
    }

    fn unsubscribe(&self, whose: &TenantPerson) {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The one that goes is counted still.
        if waits.get(whose).is_some_and(|sender| sender.receiver_count() <= 1) {
            waits.remove(whose);
        }
    }
}

impl LiveWait {
    pub fn begin(board: Arc<LiveBoard>, whose: TenantPerson) -> Self {
        let news = board.subscribe(&whose);
        Self { board, whose, news }
    }
}

impl Drop for LiveWait {
    fn drop(&mut self) {
        self.board.unsubscribe(&self.whose);
    }
}
