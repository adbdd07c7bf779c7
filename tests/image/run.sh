#!/usr/bin/env bash
# Makes the container image twice, has public tools judge it, and runs it on a read-only root.
#
#   tests/image/run.sh            builds the program, which takes ten to twenty minutes the first time
#   tests/image/run.sh PROGRAM    takes a static program that is there already
#
# The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."

setup/image.sh
cache=$(setup/image.sh path)
python=$cache/python/bin/python
crane=$cache/bin/crane
xtask=(cargo run --quiet --package xtask -- image ${1:+--program "$1"})
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
scratch=$(mktemp -d)
# Its inside is for the user of the image too.
chmod 711 "$scratch"
passed=0
failed=0
trap 'rm -rf "$scratch"' EXIT

# Runs one check; its own last line `N passed, N failed` counts, or else it is one.
check() {
  local name=$1 counts start=$SECONDS
  shift
  # In the background, for there each command of it has to succeed, which `if` alone would not ask for.
  "$@" >"$scratch/out" 2>&1 &
  if wait $!; then
    echo "ok      $name ($((SECONDS - start)) s)"
    sed -n 's/^\(ok\|note\) /  &/p' "$scratch/out"
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

# The second one on what would be another machine, but for the program: another time zone, language, mask and folder.
twice() {
  "${xtask[@]}" --out "$scratch/image" --files "$scratch/files"
  (umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 "${xtask[@]}" --out "$scratch/elsewhere/again")
  diff -r "$scratch/image" "$scratch/elsewhere/again"
  echo "note    $("$python" tests/image/contents.py "$scratch/image" size)"
  echo "note    $(manifest_digest)"
}

manifest_digest() { sed 's/.*"manifests":\[{[^}]*"digest":"\(sha256:[0-9a-f]*\)".*/\1/' "$scratch/image/index.json"; }

# Tools of the Open Container Initiative and of registries, each with its own reading of the specification.
oci_image_tool() {
  oci-image-tool validate --type image --ref "name=$version" "$scratch/image"
}

skopeo_inspects() {
  skopeo inspect "oci:$scratch/image:$version" >"$scratch/inspected"
  grep -q "\"Digest\": \"$(manifest_digest)\"" "$scratch/inspected"
}

umoci_unpacks() {
  local mode=()
  [ "$(id -u)" = 0 ] || mode=(--rootless)
  umoci unpack "${mode[@]}" --image "$scratch/image:$version" "$scratch/bundle"
  chmod 711 "$scratch/bundle"
  (cd "$scratch/bundle/rootfs" && find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort) >"$scratch/unpacked"
  "$python" tests/image/contents.py "$scratch/image" list | LC_ALL=C sort | diff - "$scratch/unpacked"
}

files_are_the_same() { diff -r "$scratch/files" "$scratch/bundle/rootfs"; }

through_a_registry() {
  "$crane" registry serve --address 127.0.0.1:0 >"$scratch/registry" 2>&1 &
  trap "kill $!" EXIT
  local at tries=0
  until at=$(sed -n 's/.*serving on port \([0-9]*\).*/127.0.0.1:\1\/tidings/p' "$scratch/registry") && [ -n "$at" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { cat "$scratch/registry" && return 1; }
    sleep 0.1
  done
  "$crane" push "$scratch/image" "$at:$version"
  "$crane" push "$scratch/image/bill" "$at:$version-bill"
  "$crane" validate --remote "$at:$version"
  skopeo copy --quiet --dest-tls-verify=false "oci:$scratch/image:$version" "docker://$at:skopeo"
  "$crane" validate --remote "$at:skopeo"
  [ "$("$crane" digest "$at:$version")" = "$(manifest_digest)" ]
  [ "$("$crane" digest "$at:skopeo")" = "$(manifest_digest)" ]
  # Where a registry does not list what refers to an image, an index under this tag does.
  "$crane" manifest "$at:$(manifest_digest | tr : -)" | grep -q "$("$crane" digest "$at:$version-bill")"
  "$crane" export "$at:$version" - | tar -t | sed 's|/$||' | LC_ALL=C sort | diff - "$scratch/unpacked"
}

containerfile() {
  mkdir "$scratch/built"
  "$python" tests/image/containerfile.py "$scratch/files" "$scratch/config.json" "$scratch/bundle/rootfs" "$scratch/built"
}

life() {
  local user=()
  [ "$(id -u)" = 0 ] || user=(--map-root-user)
  mkdir -p "$scratch/life"
  chmod 711 "$scratch/life"
  unshare "${user[@]}" --net --mount --pid --fork --kill-child --mount-proc "$python" tests/image/life.py \
    "$scratch/bundle/rootfs" "$scratch/config.json" "$PWD/examples/gallery" "$scratch/life"
}

check "two images of one commit are the same, byte for byte" twice
if [ -e "$scratch/image/index.json" ]; then
  check "oci-image-tool validates it" oci_image_tool
  check "skopeo reads it" skopeo_inspects
  check "umoci unpacks it" umoci_unpacks
  check "the files laid out for a Containerfile are the same" files_are_the_same
  check "crane and skopeo push it, and crane validates what is there" through_a_registry
  "$python" tests/image/contents.py "$scratch/image" config >"$scratch/config.json"
  if [ "$(id -u)" = 0 ]; then
    check "the Containerfile makes the same, but for the build of the program" containerfile
  else
    echo "left    the Containerfile: only root may have a builder follow it"
  fi
  check "what is in it" "$python" tests/image/contents.py "$scratch/image"
  check "its life in a namespace" life
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
