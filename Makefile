# The few commands one needs. `make` alone lists them; what each does in full is in `cargo xtask --help`
# and `tidings --help`.

# Where rustup puts cargo, for shells that have not heard of it yet.
export PATH := $(HOME)/.cargo/bin:$(PATH)
TARGET := $(or $(CARGO_TARGET_DIR),target)
EXAMPLE ?= gallery
# Each example has a house of its own.
OWN_DATA := $(if $(filter-out gallery,$(EXAMPLE)),--data-dir .tidings-$(EXAMPLE))
KILLS ?= 50
EVENTS ?= 200000
CATALOGUES ?= 1000000

.DEFAULT_GOAL := help
.PHONY: help setup up sink engines test chart upgrade image watch soak nightly advisories bench fmt

help: ## lists these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## installs what up and test need, where it may
	@setup/prepare.sh test

up: ## starts an example with its demo, EXAMPLE=gallery unless set; ENGINE=production on a real Kafka and Cassandra; ARGS='...'
ifeq ($(ENGINE),production)
	@setup/prepare.sh engines
	cargo build --package tidings --package engines
	@# Ctrl-C is for the house alone: the engines stay until it has stopped in good order.
	@trap '' INT; exec $(TARGET)/debug/engines up -- $(TARGET)/debug/tidings up --engine production \
	  --data-dir .tidings-production --catalogue examples/$(EXAMPLE) --demo $(ARGS)
else
	@setup/prepare.sh up
	cargo build --package tidings
	@exec $(TARGET)/debug/tidings up --catalogue examples/$(EXAMPLE) --demo $(OWN_DATA) $(ARGS)
endif

sink: ## takes any mail and shows it on a page; up sends there with TIDINGS_MAIL_WAYS=smtp+plain://127.0.0.1:2525
	@setup/prepare.sh up
	cargo build --package tidings
	@exec $(TARGET)/debug/tidings sink $(ARGS)

engines: ## starts a real Kafka, Cassandra and schema registry until Ctrl-C; ARGS='--nodes 3' makes them three
	@setup/prepare.sh engines
	cargo build --package engines
	@exec $(TARGET)/debug/engines up $(ARGS)

test: ## runs the whole gate: format, checks, lints, tests, documentation, planted faults
	@setup/prepare.sh test
	@cargo xtask ci

chart: ## checks the Helm chart, and lives a release on a real API server; ARGS=quick leaves the server out
	@tests/chart/run.sh $(or $(ARGS),all)

upgrade: ## upgrades a house and takes it back, both versions at work on real engines; ARGS=COMMIT is another one before
ifneq ($(ARGS),quick)
	@setup/prepare.sh engines
endif
	@tests/upgrade/run.sh $(ARGS)

image: ## makes the container image, has public tools judge it and runs it; ARGS=FILE takes a static program that is there
	@setup/prepare.sh up
	@tests/image/run.sh $(ARGS)

watch: ## checks dashboards, alerts and runbooks, on a real house that Prometheus watches; ARGS=quick leaves the house out
ifneq ($(ARGS),quick)
	@setup/prepare.sh engines
	cargo build --package tidings --package engines
endif
	@tests/watch/run.sh $(or $(ARGS),all)

soak: ## kills and restarts the real process KILLS=50 times, eight processes under EVENTS=200000, all scenarios on engines
	@setup/prepare.sh test
	TIDINGS_KILLS=$(KILLS) TIDINGS_EVENTS=$(EVENTS) cargo test --package tests --features faults -- soak --nocapture
	TIDINGS_REAL=all cargo test --package tests --features faults --test scenarios -- real::

nightly: ## draws CATALOGUES=1000000 catalogues at random and lives each of them, on all cores
	@setup/prepare.sh up
	TIDINGS_CATALOGUES=$(CATALOGUES) cargo test --release --package tests --features faults --test laws -- law_8_whatever --nocapture

advisories: ## asks the RustSec database, by network, whether what we lean on is known to be unsafe, and checks its licences
	@setup/prepare.sh advisories
	@$(TARGET)/deny/bin/cargo-deny check $(ARGS)

bench: ## measures; ARGS='NAME ...' says what, ARGS=list what there is
	@setup/prepare.sh up
	cargo run --release --package tidings -- bench $(or $(ARGS),list)

fmt: ## formats all sources
	cargo fmt --all
