//! The disks that a process uses, and how full they are, for monitoring.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use runtime::metrics::Metrics;

use crate::{datadir::disk_free, metrics::DiskMetrics};

/// What may not fill up: a name, and a folder on it.
#[derive(Clone)]
pub struct WatchedDisks {
    all: Arc<[(&'static str, PathBuf, AtomicBool)]>,
    reserve: u64,
    metrics: DiskMetrics,
}

impl WatchedDisks {
    /// The data directory, and where messages go as files if any do.
    pub fn declare(
        data: &Path,
        outbox: Option<&Path>,
        reserve: u64,
        metrics: &Metrics,
    ) -> anyhow::Result<Self> {
        let metrics = DiskMetrics::declare(metrics)?;
        metrics.reserve.with_label_values::<&str>(&[]).set(i64::try_from(reserve).unwrap_or(i64::MAX));
        let data = Some(("data_dir", data.to_owned(), AtomicBool::default()));
        let outbox = outbox.map(|path| ("outbox", path.to_owned(), AtomicBool::default()));
        let disks = Self { all: data.into_iter().chain(outbox).collect(), reserve, metrics };
        disks.low_disks();
        Ok(disks)
    }

    /// Looks at each; says which are down to the reserve. One that cannot be asked is not full: whoever writes will be
    /// told.
    pub fn low_disks(&self) -> Vec<&'static str> {
        let mut low = Vec::new();
        for (of, path, was_low) in &*self.all {
            let Ok(free) = disk_free(path) else { continue };
            self.metrics.free.with_label_values(&[of]).set(i64::try_from(free).unwrap_or(i64::MAX));
            let is_low = free < self.reserve;
            if is_low {
                low.push(*of);
            }
            if is_low != was_low.swap(is_low, Ordering::Relaxed) {
                let (path, mib) = (path.display(), free >> 20);
                if is_low {
                    tracing::warn!(of, %path, free_mib = mib, "a disk is down to `disk_reserve`");
                } else {
                    tracing::info!(of, %path, free_mib = mib, "a disk has room again");
                }
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_disk_is_looked_at() {
        let (data, outbox) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let check = |outbox: Option<&Path>, reserve: u64, low: &[&str]| {
            let metrics = Metrics::default();
            let disks = WatchedDisks::declare(data.path(), outbox, reserve, &metrics).unwrap();
            assert_eq!(disks.low_disks(), low);
            let text = metrics.render_text();
            assert!(text.contains("tidings_disk_free_bytes{of=\"data_dir\"}"), "{text}");
            assert_eq!(text.contains("{of=\"outbox\"}"), outbox.is_some(), "{text}");
        };
        check(Some(outbox.path()), 0, &[]);
        check(Some(outbox.path()), u64::MAX, &["data_dir", "outbox"]);
        check(None, u64::MAX, &["data_dir"]);
    }
}
