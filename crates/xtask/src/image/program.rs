//! The program of the image: a release build without a library beside it.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use crate::shell::{self, WorkspaceRoot};

/// What it is built for, which is this machine's kind; `--target` keeps the flags from build scripts and macros, which run
/// here.
pub const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// Builds the program; where it is.
pub fn build_program(house: &WorkspaceRoot) -> Result<PathBuf> {
    let mut cargo = house.cargo(&["build", "--release", "--package", "tidings", "--target", TARGET]);
    // Paths of this machine would make another program of the same commit. Of several the last one counts.
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let target = house.target_folder();
    let places = [
        Some((house.root.clone(), "/tidings")),
        (!target.starts_with(&house.root)).then_some((target, "/tidings/target")),
        cargo_home.map(|folder| (folder, "/cargo")),
    ];
    let names: Vec<String> =
        places.iter().flatten().map(|(from, to)| format!("{}={to}", from.display())).collect();
    let renamed = |flag: &str| names.iter().map(|name| format!(" {flag}={name}")).collect::<String>();
    cargo
        .env("RUSTFLAGS", "-C target-feature=+crt-static".to_owned() + &renamed("--remap-path-prefix"))
        // What is in C has lines of its own, with the folders in which it was built.
        .env("CFLAGS", renamed("-ffile-prefix-map").trim_start())
        // Debian's own libraries, of which it has the static ones too.
        .env("OPENSSL_STATIC", "1")
        .env("LIBZ_SYS_STATIC", "1");
    ensure!(shell::run_succeeds(&mut cargo)?, "the program does not build");
    Ok(house.target_folder().join(TARGET).join("release/tidings"))
}

/// Whether a program runs without any other file; the architecture that it is for.
pub fn check_static(bytes: &[u8]) -> Result<&'static str> {
    const INTERPRETER: u32 = 3;
    let half = |at: usize| bytes.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    let word = |at: usize| {
        bytes.get(at..at + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
    };
    let long = |at: usize| Some(u64::from(word(at)?) | u64::from(word(at + 4)?) << 32);
    // A head of 64 bits, little end first.
    ensure!(bytes.starts_with(b"\x7fELF\x02\x01"), "it is no program for Linux with 64 bits");
    let architecture = match half(18) {
        Some(62) => "amd64",
        Some(183) => "arm64",
        other => bail!("it is for another machine: {other:?}"),
    };
    let (start, size, many) = (long(32), half(54), half(56));
    let (start, size, many) = (start.context("cut off")?, size.context("cut off")?, many.context("cut off")?);
    for number in 0..u64::from(many) {
        let at = usize::try_from(start + number * u64::from(size))?;
        ensure!(
            word(at).context("cut off")? != INTERPRETER,
            "it is not linked statically: it needs a loader and libraries"
        );
    }
    Ok(architecture)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head with one segment of a type.
    fn program(machine: u8, segment: u8) -> Vec<u8> {
        let mut bytes = vec![0; 128];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[18], bytes[32], bytes[54], bytes[56], bytes[64]) = (machine, 64, 56, 1, segment);
        bytes
    }

    #[test]
    fn a_program_that_needs_a_loader_is_refused() {
        let check = |bytes: &[u8], expect: Result<&str, &str>| {
            let found = check_static(bytes).map_err(|error| error.to_string());
            match (found, expect) {
                (Ok(found), Ok(expect)) => assert_eq!(found, expect),
                (Err(found), Err(expect)) => assert!(found.contains(expect), "{found}"),
                (found, expect) => unreachable!("{found:?} is not {expect:?}"),
            }
        };
        check(&program(62, 1), Ok("amd64"));
        check(&program(183, 1), Ok("arm64"));
        check(&program(62, 3), Err("not linked statically"));
        check(&program(3, 1), Err("another machine"));
        check(&program(62, 1)[..60], Err("cut off"));
        check(b"#!/bin/sh\n", Err("no program"));
        check(b"", Err("no program"));
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        check(&own, Err("not linked statically"));
    }
}
