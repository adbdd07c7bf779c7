#!/usr/bin/env bash
# Gets what watching a house is tested with: Prometheus and Alertmanager as Debian packages, and a Python environment
# among the build outputs with Grafana's SDK.
#
#   setup/watch.sh quick   what `make watch ARGS=quick` needs: promtool and Python
#   setup/watch.sh all     that, and Alertmanager
#   setup/watch.sh python  prints the Python
#
# With everything there it only looks, and says nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CARGO_TARGET_DIR:-target}/watch
wanted=tests/watch/requirements.txt

say() { printf '%s\n' "watch: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }
die() {
  say "$@"
  exit 1
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# A Debian package, if a command of it is missing.
need() {
  local command=$1 package=$2
  has "$command" && return 0
  say "installing $package"
  { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$package"; } >&2 || die "please install $package"
}

python() {
  ! cmp -s "$wanted" "$folder/requirements.txt" || return 0
  need python3 python3
  python3 -c 'import ensurepip, venv' 2>/dev/null || need pyvenv python3-venv
  say "making $folder with pip; this happens once"
  python3 -m venv --clear "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2 ||
    die "pip could not install what $wanted names"
  cp "$wanted" "$folder/requirements.txt"
}

case "${1:-}" in
  quick) need promtool prometheus && python ;;
  all) need promtool prometheus && need prometheus-alertmanager prometheus-alertmanager && python ;;
  python) echo "$folder/bin/python" ;;
  *) die "usage: setup/watch.sh quick|all|python" ;;
esac
