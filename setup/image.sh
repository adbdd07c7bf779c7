#!/usr/bin/env bash
# Gets the tools with which the container image is checked. It gets each once, into a cache outside of the tree.
#
#   setup/image.sh        what `make image` needs. About three minutes the first time, nothing after
#   setup/image.sh path   prints the folder of the cache
#
# The cache is ${XDG_CACHE_HOME:-~/.cache}/tidings-image, or what TIDINGS_IMAGE_CACHE names. crane is built from its Go
# module, since no package has it; the Python tools come with pip, all others are Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."

CRANE=0.20.6

cache=${TIDINGS_IMAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tidings-image}

say() { printf '%s\n' "image: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }
die() {
  say "$@"
  exit 1
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# Debian packages of which a command is missing, as `COMMAND PACKAGE` pairs.
need() {
  local missing=()
  while [ $# -gt 0 ]; do
    has "$1" || missing+=("$2")
    shift 2
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "installing ${missing[*]}"
  { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >&2 || die "please install ${missing[*]}"
}

crane() {
  local new=$cache/new
  [ ! -x "$cache/bin/crane-$CRANE" ] || return 0
  need go golang
  say "building crane $CRANE; this happens once"
  mkdir -p "$cache/bin" "$new"
  GOBIN=$new GOMODCACHE=$cache/go/mod GOCACHE=$cache/go/build GOFLAGS=${GOFLAGS:--p=1} nice -n 15 \
    go install -trimpath -ldflags "-s -w" "github.com/google/go-containerregistry/cmd/crane@v$CRANE" >&2 ||
    die "go could not build crane"
  mv "$new/crane" "$cache/bin/crane-$CRANE"
  ln -sf "crane-$CRANE" "$cache/bin/crane"
  # What Go leaves is larger than the tool.
  chmod -R u+w "$cache/go" && rm -rf "$cache/go" "$new"
}

python() {
  local wanted=tests/image/requirements.txt
  ! cmp -s "$wanted" "$cache/python/requirements.txt" || return 0
  python3 -c 'import ensurepip, venv' 2>/dev/null || need pyvenv python3-venv
  say "making $cache/python with pip; this happens once"
  python3 -m venv --clear "$cache/python"
  "$cache/python/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2 ||
    die "pip could not install what $wanted names"
  cp "$wanted" "$cache/python/requirements.txt"
}

case "${1:-}" in
  "")
    need python3 python3 skopeo skopeo umoci umoci oci-image-tool oci-image-tool bwrap bubblewrap openssl openssl \
      readelf binutils buildah buildah busybox busybox-static \
      unshare util-linux ip iproute2 setpriv util-linux
    crane
    python
    ;;
  path) echo "$cache" ;;
  *) die "usage: setup/image.sh [path]" ;;
esac
