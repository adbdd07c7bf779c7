//! A port that somebody else has: what the program says, and with which exit code it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{net::TcpListener, path::Path, process::Command};

#[test]
fn a_port_that_is_taken_is_said_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/scaffold").display().to_string();
    let check = |line: &str, flag: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
        let ended = command.args(line.split(' ')).current_dir(dir.path()).env_clear().output().unwrap();
        let why = String::from_utf8(ended.stderr).unwrap();
        let expected = format!("tidings: {at} is taken (by another tidings?); try {flag} 127.0.0.1:0\n");
        assert_eq!((ended.status.code(), why.ends_with(&expected)), (Some(3), true), "{line}: {why}");
    };
    check(&format!("up --catalogue {catalogue} --listen {at}"), "--listen");
    check(&format!("sink --listen {at} --page 127.0.0.1:0"), "--listen");
    check(&format!("sink --listen 127.0.0.1:0 --page {at}"), "--page");
}
