#!/usr/bin/env bash
# Checks that this machine has what is needed, and installs what is missing where it may.
#
#   setup/prepare.sh up        what `make up` needs: Rust, a C compiler, make, and what librdkafka is built with
#   setup/prepare.sh engines   what `make engines` needs: that, and Java 17, Maven, Go and openssl, with which the
#                              real Kafka, Cassandra and registry are fetched and started
#   setup/prepare.sh test      what `make test` needs: that, rustfmt, clippy, two browsers for the page tests, SpamAssassin,
#                              mailboxes (Dovecot), PostgreSQL and nginx for the how-to pages, Python with the Kafka client that an upstream team would have,
#                              and Node with a push service for browsers and linters for mails
#   setup/prepare.sh advisories   what `make advisories` needs: that of `make up`, git, and cargo-deny, which it builds
#
# With everything there it only looks, and says nothing. Debian packages are installed when this is root or
# may use sudo without a password; Rust is installed only through a rustup that is already there.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "setup: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

die() {
  say "$@"
  exit 1
}

# A field of rust-toolchain.toml, so that the version is written in one place.
toolchain() { sed -n "s/^$1 *= *//p" rust-toolchain.toml | tr -d '[]",'; }

# Whether version $1 is at least version $2.
at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Debian packages that are missing, one for each command or library that is not there.
missing_packages() {
  has cc || printf 'gcc libc6-dev '
  has make || printf 'make '
  has pkg-config || printf 'pkg-config '
  pkg-config --exists openssl 2>/dev/null || printf 'libssl-dev '
  pkg-config --exists zlib 2>/dev/null || printf 'zlib1g-dev '
  if [ "$purpose" = engines ] || [ "$purpose" = test ]; then
    has java || [ -n "${JAVA_HOME:-}" ] || printf 'openjdk-17-jdk-headless '
    has mvn || printf 'maven '
    has go || printf 'golang '
    has openssl || printf 'openssl '
  fi
  if [ "$purpose" = test ] && ! has chromium && ! has chromium-browser && ! has google-chrome; then
    printf 'chromium '
  fi
  if [ "$purpose" = test ] && ! has firefox && ! has firefox-esr; then
    printf 'firefox-esr '
  fi
  if [ "$purpose" = test ] && ! has spamassassin; then
    printf 'spamassassin '
  fi
  if [ "$purpose" = test ] && [ ! -x /usr/sbin/dovecot ] && [ ! -x /usr/local/sbin/dovecot ]; then
    printf 'dovecot-imapd dovecot-lmtpd '
  fi
  if [ "$purpose" = test ] && ! has initdb && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    printf 'postgresql '
  fi
  if [ "$purpose" = test ] && [ ! -x /usr/sbin/nginx ]; then
    printf 'nginx-light '
  fi
  if [ "$purpose" = test ] && ! has systemd-analyze; then
    printf 'systemd '
  fi
  if [ "$purpose" = test ] && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    printf 'python3-venv '
  fi
  if [ "$purpose" = test ] && ! { has node && has npm; }; then
    printf 'nodejs npm '
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() { has apt-get && { [ "$(id -u)" = 0 ] || { has sudo && sudo -n true 2>/dev/null; }; }; }

install_packages() {
  local packages
  read -ra packages <<<"$(missing_packages)"
  [ "${#packages[@]}" -gt 0 ] || return 0
  may_install || die "please install: ${packages[*]} (Debian: apt-get install ${packages[*]})"
  say "installing ${packages[*]}; this happens once and may take some minutes"
  say "1 of 2: apt-get update"
  as_root apt-get update -qq >&2 || say "the package lists could not be brought up to date; trying with those that are there"
  say "2 of 2: apt-get install ${packages[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2 ||
    die "apt-get could not install ${packages[*]}"
}

# The Rust that rust-toolchain.toml names. rustup would fetch it by itself at the first use; doing it here says so.
check_rust() {
  local wanted components version
  wanted=$(toolchain channel)
  components=$(toolchain components)
  if has rustup && ! rustup toolchain list | grep "^$wanted-" >/dev/null; then
    say "installing Rust $wanted with rustup; this happens once and may take some minutes"
    rustup toolchain install "$wanted" --profile minimal --component "${components// /,}" >&2 ||
      die "rustup could not install Rust $wanted"
  fi
  has cargo || die "no Rust here: Tidings needs $wanted or newer, which Debian does not have." \
    "Install rustup (https://rustup.rs): curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
  version=$(cargo --version | cut -d ' ' -f 2)
  at_least "$version" "$wanted" || die "cargo is $version, Tidings needs $wanted or newer: see https://rustup.rs"
  [ "$purpose" = test ] || return 0
  cargo fmt --version >/dev/null 2>&1 || die "no rustfmt: rustup component add rustfmt"
  cargo clippy --version >/dev/null 2>&1 || die "no clippy: rustup component add clippy"
}

# A Python environment among the build outputs. What it was made of lies in it last, so one that was broken off
# or whose requirements have changed is made anew.
check_python() {
  local python=${CARGO_TARGET_DIR:-target}/python requirements=tests/python/requirements.txt
  [ "$purpose" = test ] || return 0
  ! cmp -s "$requirements" "$python/requirements.txt" || return 0
  say "making $python with pip; this happens once"
  python3 -m venv --clear "$python" || die "python3 could not make $python"
  "$python/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" >&2 ||
    die "pip could not install what $requirements names"
  cp "$requirements" "$python/requirements.txt"
}

# What the programs in tests/node stand on, among the build outputs; in the same manner.
check_node() {
  local node=${CARGO_TARGET_DIR:-target}/node file
  [ "$purpose" = test ] || return 0
  ! cmp -s tests/node/package-lock.json "$node/made-of.json" || return 0
  say "making $node with npm; this happens once"
  rm -rf "$node"
  mkdir -p "$node"
  for file in package.json package-lock.json; do cp "tests/node/$file" "$node/$file"; done
  npm ci --prefix "$node" --ignore-scripts --no-audit --no-fund --silent >&2 ||
    die "npm could not install what tests/node/package-lock.json names"
  cp tests/node/package-lock.json "$node/made-of.json"
}

# Who asks for advisories, among the build outputs.
check_deny() {
  local tool=${CARGO_TARGET_DIR:-target}/deny version=0.20.2
  [ "$purpose" = advisories ] || return 0
  has git || die "no git: cargo-deny fetches its database with it"
  [ "$("$tool/bin/cargo-deny" --version 2>/dev/null)" != "cargo-deny $version" ] || return 0
  say "building cargo-deny $version; this happens once and takes some minutes"
  cargo install cargo-deny --version "$version" --locked --debug --quiet --root "$tool" >&2 ||
    die "cargo could not install cargo-deny $version"
}

purpose=${1:-}
case "$purpose" in
  up | engines | test | advisories) ;;
  *) die "usage: setup/prepare.sh up|engines|test|advisories" ;;
esac
install_packages
check_rust
check_python
check_node
check_deny
