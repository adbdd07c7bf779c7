"""The dashboard of the pipeline: is anything late, where does it wait, what goes through each room."""

from board import DIGEST, DIGEST_KEPT, URGENT, URGENT_KEPT, Board, greatest, late, quantiles, rate

STEPS = "consumergroup, topic"


def board():
    made = Board("tidings-pipeline", "Tidings / Pipeline", "Is anything late, where does it wait, and what goes through each room.", "watching.md#dashboards")
    made.row("Is anything late?")
    made.number(
        f"Urgent messages within {URGENT} s", f"The share of urgent messages told within {URGENT} s of their event.", "percentunit",
        late("tidings_event_to_told_seconds", URGENT), "runbooks/TidingsUrgentTooLate.md", limits=(-URGENT_KEPT,))
    made.number(
        f"Digests within {DIGEST // 60} min", f"The share of digests told within {DIGEST // 60} minutes of their time.", "percentunit",
        late("tidings_due_to_told_seconds", DIGEST), "runbooks/TidingsDigestsTooLate.md", limits=(-DIGEST_KEPT,))
    made.number(
        "Oldest unread record", "The age of the oldest record that a room has not read, over all rooms.", "s",
        "max(tidings_consumergroup_lag_seconds{@})", "runbooks/TidingsLagGrows.md", limits=(60, 300))
    made.number(
        "Windows due", "Windows whose time has come and that are not closed yet. It should fall back to 0 within seconds.", "none",
        f"sum({greatest('tidings_digest_due_windows', 'release, partition')})", "runbooks/TidingsDueWindowsWait.md", limits=(1, 1000))
    made.number(
        "Partitions that stand still", "Partitions that a process holds and cannot go on with.", "none",
        "sum(tidings_consumergroup_standstill_partitions{@})", "runbooks/TidingsPartitionStandsStill.md", limits=(1,))
    made.number(
        "Partitions without an owner", "Partitions of all rooms that no process reads.", "none",
        "count(max by (release, consumergroup, topic, partition) (tidings_consumergroup_lag{@})) - sum(tidings_consumergroup_assigned_partitions{@})",
        "runbooks/TidingsPartitionsWithoutOwner.md", limits=(1,))

    made.row("What waits")
    made.lines(
        "Age of the oldest unread record", "By room and topic; the greatest of all partitions and of all processes that report it.", "s",
        [(greatest("tidings_consumergroup_lag_seconds", STEPS), "{{consumergroup}} {{topic}}")], "runbooks/TidingsLagGrows.md", limits=(300,))
    made.lines(
        "Unread records", "By room and topic. If it grows, that room does not keep up.", "none",
        [(f"sum by ({STEPS}) ({greatest('tidings_consumergroup_lag', f'{STEPS}, partition')})", "{{consumergroup}} {{topic}}")],
        "runbooks/TidingsLagGrows.md")
    made.lines(
        "Lag that is unknown", "1 while the log does not say how far a room is. Lines of the other panels have gaps then.", "none",
        [(greatest("tidings_consumergroup_lag_unknown", STEPS), "{{consumergroup}} {{topic}}")], "runbooks/TidingsLagUnknown.md", limits=(1,))
    made.lines(
        "Records in quarantine", "Records that could not be used and wait for somebody, by topic, room and sort of reason.", "none",
        [(greatest("tidings_quarantine_waiting_records", "topic, room, because"), "{{topic}} {{room}} {{because}}")], "runbooks/TidingsQuarantineWaits.md", limits=(1,))
    made.lines(
        "Newly quarantined", "Records and requests that a room could not use, a second.", "cps",
        [(rate("tidings_ingest_refused_total", "way"), "ingest {{way}}")]
        + [(f"sum(rate(tidings_{room}_quarantined_total{{@}}[$__rate_interval]))", room) for room in ("fanout", "digest", "sender")],
        "runbooks/TidingsQuarantineWaits.md")
    made.lines(
        "Partitions by owner", "Partitions assigned to processes, by room. A room that is short of them has partitions that nobody reads.", "none",
        [("sum by (consumergroup) (tidings_consumergroup_assigned_partitions{@})", "{{consumergroup}}")], "runbooks/TidingsPartitionsWithoutOwner.md")

    made.row("What goes through")
    made.lines(
        "Intake", "Changes, facts and feedback taken a second, by the way they came and their sort.", "cps",
        [(rate("tidings_ingest_admitted_total", "way, sort, outcome"), "{{way}} {{sort}} {{outcome}}")], "http.md")
    made.lines(
        "Answers of the intake", "Requests a second by status. 429, 503 and 507 turn a service away for a while.", "reqps",
        [(rate("tidings_ingest_requests_total", "status"), "{{status}}")], "runbooks/TidingsIntakeTurnsAway.md")
    made.lines(
        "Time of a request", "How long the intake takes to answer, the 99th percentile by path. What a request brought is durable by then.", "s",
        quantiles("tidings_ingest_request_seconds", "path", "{{path}}", (0.99,)), "http.md")
    made.lines(
        "Fan-out", "Events told and expired a second, and slices of large audiences.", "cps",
        [(rate("tidings_fanout_events_total", "outcome"), "events {{outcome}}"), (rate("tidings_fanout_slices_total", "outcome"), "slices {{outcome}}")],
        "runbooks/TidingsLagGrows.md")
    made.lines(
        "Rows", "Rows written into days a second, and rows for which a day had no room.", "cps",
        [(rate("tidings_fanout_rows_total", "outcome"), "{{outcome}}")], "operating.md#metrics")
    made.lines(
        "Windows and messages", "Windows closed and messages decided a second, by plan.", "cps",
        [("sum(rate(tidings_digest_windows_closed_total{@}[$__rate_interval]))", "windows closed"), (rate("tidings_digest_readys_total", "plan"), "{{plan}}")],
        "windows.md")
    made.lines(
        "Messages", "What became of messages a second, by channel.", "cps",
        [(rate("tidings_sender_outcomes_total", "channel, outcome"), "{{channel}} {{outcome}}")], "runbooks/TidingsDigestsTooLate.md")

    made.row("How long each step takes")
    made.lines(
        "From event to entry", "From the event's own time until its first entries are stored.", "s",
        quantiles("tidings_event_to_entry_seconds"), "runbooks/TidingsUrgentTooLate.md", limits=(URGENT,))
    made.lines(
        "From due to decision", "From the time of a window until the digest has decided. A window that is decided anew counts again.", "s",
        quantiles("tidings_digest_lateness_seconds"), "runbooks/TidingsDigestsTooLate.md", limits=(DIGEST,))
    made.lines(
        "Hand-over", "How long the sender has a message in hand, by channel.", "s",
        quantiles("tidings_sender_hand_over_seconds", "channel", "{{channel}}"), "runbooks/TidingsProviderLeftAlone.md")
    made.lines(
        "Turns", "The 99th percentile of the parts of a turn, by room: decide, commit, confirm.", "s",
        quantiles("tidings_turn_seconds", "consumergroup, part", "{{consumergroup}} {{part}}", (0.99,)), "engines.md")
    made.lines(
        "Outcomes of turns", "Turns a second. Failed, aborted and lost turns are repeated.", "cps",
        [(rate("tidings_turns_total", "consumergroup, outcome"), "{{consumergroup}} {{outcome}}")], "engines.md")
    made.lines(
        "Records a turn", "How many records one turn takes on average, by room.", "none",
        [(f"{rate('tidings_turn_records_total', 'consumergroup')} / {rate('tidings_turns_total', 'consumergroup')}", "{{consumergroup}}")],
        "engines.md")

    made.row("Processes")
    made.lines(
        "Processor time", "Cores in use, by process.", "none",
        [("rate(process_cpu_seconds_total{@}[$__rate_interval])", "{{instance}}")], "kubernetes.md#sizes")
    made.lines("Memory", "Resident memory, by process.", "bytes", [("process_resident_memory_bytes{@}", "{{instance}}")], "kubernetes.md#sizes")
    made.lines(
        "Open files", "The share of the files that a process may open.", "percentunit",
        [("process_open_fds{@} / process_max_fds{@}", "{{instance}}")], "runbooks/TidingsFilesRunOut.md", limits=(0.8,))
    made.lines("Threads", "Threads, by process.", "none", [("process_threads{@}", "{{instance}}")], "kubernetes.md#sizes")
    made.lines(
        "Up for", "How long each process has been running. A line that falls is a restart.", "s",
        [("time() - process_start_time_seconds{@}", "{{instance}}")], "runbooks/TidingsRestarts.md")
    made.lines(
        "Versions", "Processes by the version that they run. Two lines are a rollout.", "none",
        [("count by (version) (tidings_build_info{@})", "{{version}}")], "how-to/upgrade.md")
    return made
