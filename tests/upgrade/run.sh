#!/usr/bin/env bash
# Upgrades a house and takes it back, with both versions at work, on real Kafka and Cassandra.
#
#   tests/upgrade/run.sh [COMMIT]   from the release before, or from COMMIT; builds what is missing
#   tests/upgrade/run.sh quick      with the programs that are built already
#
# TIDINGS_KAFKA and TIDINGS_CQL name engines that run, as `make engines` prints them; without them some are started.
# TIDINGS_OLD and TIDINGS_NEW name other programs. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."

what=${1:-}
programs=${CARGO_TARGET_DIR:-target}/debug
scratch=$(mktemp -d)
engines=
trap '[ -z "$engines" ] || { kill "$engines" && wait "$engines"; } 2>/dev/null || true; rm -rf "$scratch"' EXIT

old=${TIDINGS_OLD:-}
if [ "$what" = quick ]; then
  [ -n "$old" ] || old=$(setup/upgrade.sh cached)
else
  [ -n "$old" ] || old=$(setup/upgrade.sh build "$what")
  [ -n "${TIDINGS_NEW:-}" ] || cargo build --quiet --package tidings --package engines
fi
new=${TIDINGS_NEW:-$programs/tidings}
[ -x "$new" ] || { echo "no $new: cargo build --package tidings --package engines" >&2 && exit 1; }

if [ -z "${TIDINGS_KAFKA:-}" ] || [ -z "${TIDINGS_CQL:-}" ]; then
  "$programs/engines" up >"$scratch/engines" 2>"$scratch/log" &
  engines=$!
  # The registry is the last that it names.
  until grep -q TIDINGS_REGISTRY= "$scratch/engines"; do
    kill -0 "$engines" 2>/dev/null || { cat "$scratch/log" >&2 && exit 1; }
    sleep 0.2
  done
  # shellcheck disable=SC1091
  . "$scratch/engines"
fi
echo "from $(basename "$old") to $new"
python3 tests/upgrade/life.py "$old" "$new"
