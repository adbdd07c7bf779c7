//! Which version this is.

use std::sync::LazyLock;

/// The version, and the commit where whoever built it said which (`TIDINGS_COMMIT`).
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let commit = option_env!("TIDINGS_COMMIT").map(|commit| format!(" ({commit})"));
        format!("{}{}", env!("CARGO_PKG_VERSION"), commit.unwrap_or_default())
    });
    &VERSION
}
