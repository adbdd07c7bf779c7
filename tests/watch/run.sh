#!/usr/bin/env bash
# Checks dashboards, alerts and runbooks.
#
#   tests/watch/run.sh quick   what is generated, the rules for each, and every alert with promtool
#   tests/watch/run.sh all     that, and a real house on real engines, watched by Prometheus and Alertmanager
#
# The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."

what=${1:-all}
case "$what" in
  quick | all) setup/watch.sh "$what" ;;
  *) echo "usage: tests/watch/run.sh quick|all" >&2 && exit 2 ;;
esac
python=$(setup/watch.sh python)
programs=${TIDINGS_PROGRAMS:-${CARGO_TARGET_DIR:-target}/debug}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# Runs one check; its own last line `N passed, N failed` counts, or else it is one.
check() {
  local name=$1 counts start=$SECONDS
  shift
  if "$@" >"$scratch/out" 2>&1; then
    echo "ok      $name ($((SECONDS - start)) s)"
    grep -vE '^$|: ok$|passed, [0-9]+ failed$' "$scratch/out" | sed 's/^/        /' || true
  else
    echo "FAILED  $name"
    sed 's/^/  /' "$scratch/out"
    grep -qE '^[0-9]+ passed, [0-9]+ failed$' "$scratch/out" || echo "0 passed, 1 failed" >>"$scratch/out"
  fi
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$scratch/out" | tail -n 1 || true)
  [ -n "$counts" ] || counts="1 passed, 0 failed"
  passed=$((passed + ${counts%% passed*}))
  counts=${counts#*, }
  failed=$((failed + ${counts%% failed}))
}

check "dashboards are what is generated" "$python" helm/dashboards/make.py --check
check "dashboards, alerts and runbooks keep the rules" "$python" tests/watch/lint.py
check "each alert fires, does not fire, and ends" "$python" tests/watch/alerts.py
if [ "$what" = all ]; then
  [ -x "$programs/tidings" ] && [ -x "$programs/engines" ] || {
    echo "no $programs/tidings or $programs/engines: cargo build --package tidings --package engines" >&2
    exit 1
  }
  check "a house that is watched" "$python" tests/watch/live.py "$programs"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
