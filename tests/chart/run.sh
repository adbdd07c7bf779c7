#!/usr/bin/env bash
# Checks the Helm chart.
#
#   tests/chart/run.sh quick   what is generated, the alerts, the unit cases, and the matrix of values
#   tests/chart/run.sh all     that, with the schemas of custom resources, and the life of a release on a real API server
#
# The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."

what=${1:-all}
case "$what" in
  quick) setup/chart.sh quick ;;
  all) setup/chart.sh all ;;
  *) echo "usage: tests/chart/run.sh quick|all" >&2 && exit 2 ;;
esac
bin=$(setup/chart.sh bin)
cache=${bin%/bin}
python=$cache/python/bin/python
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
  else
    echo "FAILED  $name"
    sed 's/^/  /' "$scratch/out"
    echo "0 passed, 1 failed" >>"$scratch/out"
  fi
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$scratch/out" | tail -n 1 || true)
  [ -n "$counts" ] || counts="1 passed, 0 failed"
  passed=$((passed + ${counts%% passed*}))
  counts=${counts#*, }
  failed=$((failed + ${counts%% failed}))
}

schema() { "$python" tests/chart/values_schema.py --check; }

readme() {
  cp -r helm/tidings "$scratch/chart"
  "$bin/helm-docs" --chart-search-root "$scratch/chart" --template-files README.md.gotmpl --log-level error
  diff helm/tidings/README.md "$scratch/chart/README.md" || { echo "run helm-docs --chart-search-root helm" && return 1; }
  ! grep -n '|  |$' helm/tidings/README.md || { echo "these values have no description" && return 1; }
}

# As they are in the chart, and as they are rendered: confined to a release, they do what they do without one.
rules() {
  promtool check rules helm/tidings/files/alerts.yaml || return 1
  "$bin/helm" template news helm/tidings -n news --kube-version 1.36.3 -f helm/tidings/ci/full-values.yaml \
    --set monitoring.rules.alertLabels=null --show-only templates/monitoring.yaml >"$scratch/rules.yaml"
  "$python" tests/watch/alerts.py "$scratch/rules.yaml"
}

cases() {
  "$bin/helm-unittest" helm/tidings >"$scratch/cases" || { cat "$scratch/cases" && return 1; }
  sed -n 's/^Tests: *\([0-9]*\) passed.*/\1 passed, 0 failed/p' "$scratch/cases"
}

matrix() {
  local program=${TIDINGS_PROGRAM:-${CARGO_TARGET_DIR:-target}/debug/tidings} schemas=$cache/schemas
  # The quick part is the same on every machine, whatever its cache has.
  [ "$what" = all ] || { mkdir "$scratch/schemas" && ln -s "$cache/schemas/core" "$scratch/schemas/core" && schemas=$scratch/schemas; }
  if [ -x "$program" ]; then
    "$python" tests/chart/matrix.py "$bin" "$schemas" "$(realpath "$program")"
  else
    "$python" tests/chart/matrix.py "$bin" "$schemas"
  fi
}

life() { "$python" tests/chart/cluster.py "$bin" "$cache/schemas" | tee /dev/stderr; }

check "values.schema.json is what is generated" schema
check "README.md is what is generated" readme
if command -v promtool >/dev/null; then check "alerts" rules; fi
check "unit cases" cases
check "matrix of values" matrix
if [ "$what" = all ]; then check "the life of a release" life; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
