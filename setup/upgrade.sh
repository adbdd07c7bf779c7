#!/usr/bin/env bash
# Gets the program of the release before, for the test of an upgrade. It builds it once, into a cache outside of the tree.
#
#   setup/upgrade.sh build [COMMIT]    builds it and prints where it is. About five minutes on two cores the first time,
#                                      nothing after
#   setup/upgrade.sh cached [COMMIT]   prints where it is if it was built, and fails if it was not
#
# The release before is the newest tag `v*` before this commit; without one it is the parent of this commit, or COMMIT.
# `cached` without COMMIT takes, where there is no tag, the program that was built last.
#
# The cache is ${XDG_CACHE_HOME:-~/.cache}/tidings-upgrade, or what TIDINGS_UPGRADE_CACHE names. What this tree has
# built already of packages that are not ours is taken over by hard links, where it can be.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${TIDINGS_UPGRADE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tidings-upgrade}

say() { printf '%s\n' "upgrade: $*" >&2; }
die() {
  say "$@"
  exit 1
}

tag() { git describe --tags --abbrev=0 --match 'v*' HEAD~1 2>/dev/null; }

# The whole id of a commit; without a name, of the release before.
commit() {
  local name=${1:-}
  [ -n "$name" ] || name=$(tag) || name=HEAD~1
  git rev-parse --verify --quiet "$name^{commit}" || die "there is no commit $name"
}

# What this tree has built of packages that are not ours. Of ours nothing is kept: it is of another commit.
take_over() {
  local target=${CARGO_TARGET_DIR:-target} folder
  cp -al "$target/debug" "$cache/target/debug" 2>/dev/null || { say "nothing is taken over from $target" && return 0; }
  for folder in crates/* tests tests/engines; do
    rm -rf "$cache/target/debug/.fingerprint/$(basename "$folder")"-*
  done
}

build() {
  local id program
  id=$(commit "${1:-}")
  program=$cache/bin/tidings-${id:0:12}
  if [ ! -x "$program" ]; then
    say "building the program of $(git log -1 --format='%h, %s' "$id"); this happens once"
    rm -rf "$cache/source" "$cache/target"
    mkdir -p "$cache/source" "$cache/target" "$cache/bin"
    # With the time of now, or cargo would take what is newer for up to date.
    git archive "$id" | tar -x -m -C "$cache/source"
    take_over
    # With what the gate builds with, so that packages of others are the same.
    (cd "$cache/source" && CARGO_TARGET_DIR=$cache/target cargo build --quiet --workspace --features tests/faults \
      --bin tidings) >&2 || die "cargo could not build $id"
    cp "$cache/target/debug/tidings" "$program.new"
    mv "$program.new" "$program"
    rm -rf "$cache/source" "$cache/target"
  fi
  ln -sfn "tidings-${id:0:12}" "$cache/bin/last"
  echo "$program"
}

cached() {
  local program
  if [ -z "${1:-}" ] && ! tag >/dev/null && [ -x "$cache/bin/last" ]; then
    program=$(readlink -f "$cache/bin/last")
  else
    program=$cache/bin/tidings-$(commit "${1:-}" | cut -c 1-12)
  fi
  [ -x "$program" ] && echo "$program"
}

case "${1:-}" in
  build) build "${2:-}" ;;
  cached) cached "${2:-}" ;;
  *) die "usage: setup/upgrade.sh build|cached [COMMIT]" ;;
esac
