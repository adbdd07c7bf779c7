"""The dashboard of the engines: log, store, registry, groups, disks and the keeper."""

from board import Board, quantiles, rate


def board():
    made = Board("tidings-engines", "Tidings / Engines", "How the log, the store, the registry and the disks serve the house, and what the keeper does.", "engines.md")
    for title, name, what in (("The log", "log", "Kafka or the embedded log"), ("The store", "store", "Cassandra, ScyllaDB or the embedded store")):
        made.row(title)
        made.lines(
            f"{title}: requests", f"Requests a second to {what}, by operation.", "reqps",
            [(rate(f"tidings_{name}_request_seconds_count", "operation"), "{{operation}}")], "engines.md")
        made.lines(
            f"{title}: time of a request", f"How long {what} takes, the 99th percentile by operation.", "s",
            quantiles(f"tidings_{name}_request_seconds", "operation", "{{operation}}", (0.99,)), "engines.md")
        made.lines(
            f"{title}: failures", f"Requests a second that {what} did not answer as it should. They are repeated.", "cps",
            [(rate(f"tidings_{name}_failures_total", "operation"), "{{operation}}")], "engines.md")

    made.row("Groups")
    made.lines(
        "Assigned partitions", "Partitions by room and process.", "none",
        [("sum by (consumergroup, instance) (tidings_consumergroup_assigned_partitions{@})", "{{consumergroup}} {{instance}}")],
        "runbooks/TidingsPartitionsWithoutOwner.md")
    made.lines(
        "Assignments", "Partitions given, taken and lost a minute. It should be 0 while no process starts or stops.", "none",
        [("sum by (consumergroup, what) (increase(tidings_consumergroup_assignments_total{@}[$__rate_interval]))", "{{consumergroup}} {{what}}")],
        "runbooks/TidingsPartitionsWithoutOwner.md")
    made.lines(
        "Stand still", "Partitions that a process holds and cannot go on with.", "none",
        [("sum by (consumergroup) (tidings_consumergroup_standstill_partitions{@})", "{{consumergroup}}")], "runbooks/TidingsPartitionStandsStill.md", limits=(1,))

    made.row("Registry and disks")
    made.lines(
        "Schema registry", "1 while the registry answers; the least of all processes. There is no line without a registry.", "none",
        [("min by (instance) (tidings_registry_up{@})", "{{instance}}")], "runbooks/TidingsRegistryDown.md", limits=(-1,))
    made.lines(
        "Free disk", "Bytes that are free on the disk of the data directory and of the outbox, and the reserve.", "bytes",
        [("min by (instance, of) (tidings_disk_free_bytes{@})", "{{instance}} {{of}}"), ("max(tidings_disk_reserve_bytes{@})", "reserve")],
        "runbooks/TidingsDiskLow.md")
    made.lines(
        "Time zones", "Processes by the version of the rules of time zones that they use. All should use one.", "none",
        [("count by (version, place) (tidings_zone_data_info{@})", "{{version}} {{place}}")], "operating.md#several-processes")

    made.row("Keeper and archive")
    made.lines(
        "Since the keeper's daily work", "The keeper deletes expired days once in each day of UTC.", "s",
        [("time() - max by (release) (tidings_keeper_success_timestamp_seconds{@} > 0)", "keeper {{release}}")], "runbooks/TidingsKeeperLate.md", limits=(90000,))
    made.lines(
        "What the keeper does", "Days that it deleted and rounds that failed, an hour.", "none",
        [("sum(increase(tidings_keeper_drops_total{@}[1h]))", "days deleted"), ("sum(increase(tidings_keeper_failures_total{@}[1h]))", "failures")],
        "runbooks/TidingsKeeperLate.md")
    made.lines(
        "Since the last archive", "How long ago a day was archived. Days that are not archived are deleted when `day_life` is over.", "s",
        [("time() - max by (release) (tidings_archive_success_timestamp_seconds{@} > 0)", "archive {{release}}")], "runbooks/TidingsArchiveLate.md")

    made.row("Catalogue")
    made.lines(
        "Catalogues in use", "Processes by the catalogue that they have. Two lines are a rollout.", "none",
        [("count by (name, edition) (tidings_catalogue_info{@})", "{{name}} {{edition}}")], "operating.md#several-processes")
    made.lines(
        "Reloads", "Reloads of an hour: taken, refused because something new did not pass its check, or back to the catalogue before.", "none",
        [("sum by (outcome) (increase(tidings_reloads_total{@}[1h]))", "{{outcome}}")], "operating.md#several-processes")
    made.lines(
        "Editions behind", "How many editions a process is behind the newest catalogue.", "none",
        [("max by (instance) (tidings_catalogue_behind_editions{@})", "{{instance}}")], "runbooks/TidingsCatalogueBehind.md", limits=(1,))
    made.lines(
        "Edition awaited", "The edition that a process waits for; 0 if it waits for none.", "none",
        [("max by (instance) (tidings_catalogue_awaited_edition{@})", "{{instance}}")], "runbooks/TidingsCatalogueAwaited.md", limits=(1,))
    made.lines(
        "Canary", "The share of the persons who have the catalogue on trial, by process: one line while all have the same settings.", "percentunit",
        [("max by (instance) (tidings_catalogue_canary_ratio{@})", "{{instance}}")], "operating.md#canary")

    made.row("Places of addresses")
    made.lines(
        "Age of the database", "How old the database of IP addresses is that a process uses. Its maker publishes a newer one every few days.", "s",
        [("time() - max by (instance) (tidings_address_database_built_timestamp_seconds{@} > 0)", "{{instance}}")], "operating.md#place-by-address")
    made.lines(
        "Files read", "Files of an hour that were read as the database of IP addresses: taken, or refused.", "none",
        [("sum by (outcome) (increase(tidings_address_database_loads_total{@}[1h]))", "{{outcome}}")], "operating.md#place-by-address")

    made.row("Logins of persons")
    made.lines(
        "Keys read", "Times of an hour that the public keys of a login were read: taken, unchanged, or failed; those in use stay where they fail.", "none",
        [("sum by (outcome) (increase(tidings_person_keys_loads_total{@}[1h]))", "{{outcome}}")], "http.md#tokens-of-persons")

    made.row("Traces")
    made.lines(
        "Spans", "Spans by what became of them: sent, or dropped as the queue was full or the receiver did not take them.", "ops",
        [("sum by (outcome) (rate(tidings_traces_spans_total{@}[$__rate_interval]))", "{{outcome}}")], "traces.md#what-it-costs")
    made.lines(
        "Receiver failures", "Requests of an hour that the receiver of traces refused or did not answer.", "none",
        [("sum by (instance) (increase(tidings_traces_failures_total{@}[1h]))", "{{instance}}")], "traces.md#what-it-costs")
    return made
