//! Shutdown. Every task has a copy of one token; when it is started, each finishes its work in hand and returns.

use tokio::sync::watch;

/// Says when to stop. Cheap to clone.
#[derive(Clone)]
pub struct ShutdownSignal {
    sender: std::sync::Arc<watch::Sender<bool>>,
}

impl Default for ShutdownSignal {
    fn default() -> Self {
        Self { sender: std::sync::Arc::new(watch::Sender::new(false)) }
    }
}

impl ShutdownSignal {
    /// Asks everybody to stop.
    pub fn start(&self) {
        self.sender.send_replace(true);
    }

    pub fn is_started(&self) -> bool {
        *self.sender.borrow()
    }

    /// Returns once stopping was asked for.
    pub async fn wait(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives in `self`, so the channel cannot close before the value is seen.
        drop(receiver.wait_for(|started| *started).await);
    }

    /// Starts the shutdown on SIGINT or SIGTERM.
    pub async fn start_on_signals(&self) {
        use tokio::signal::unix::{SignalKind, signal};
        match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
            (Ok(mut int), Ok(mut term)) => {
                tokio::select! {
                    _ = int.recv() => {}
                    _ = term.recv() => {}
                    () = self.wait() => {}
                }
            }
            _ => self.wait().await,
        }
        self.start();
    }
}
