"""The dashboard of a replay: how far it is, what it changes, and whether anybody else waits because of it."""

from board import DIGEST, URGENT, Board, greatest, quantiles, rate


def board():
    made = Board("tidings-replay", "Tidings / Replay", "How far a replay is, what it puts into days, and whether others wait because of it.", "replay.md")
    made.row("How far it is")
    made.number("Open replays", "Replays that are planned, run or wait to be resumed.", "none", "max(tidings_replay_open_replays{@})", "replay.md#while-it-runs", 6)
    made.number("Records left", "Records that open replays have not looked at yet.", "none", "max(tidings_replay_remaining_records{@})", "replay.md#while-it-runs", 6)
    made.number(
        "Records a second", "Records that replays append a second.", "cps", "sum(rate(tidings_replay_records_total{@}[$__rate_interval]))", "replay.md#while-it-runs", 6)
    made.number(
        "Time left", "What is left, at the present rate.", "s",
        "max(tidings_replay_remaining_records{@}) / (sum(rate(tidings_replay_records_total{@}[$__rate_interval])) > 0) or vector(0)", "replay.md#while-it-runs", 6)
    made.lines(
        "Records left and appended", "The first line falls to 0; the second is the rate of the replay.", "none",
        [("max(tidings_replay_remaining_records{@})", "left"), ("sum(rate(tidings_replay_records_total{@}[$__rate_interval]))", "a second")],
        "replay.md#while-it-runs", 12)
    made.lines(
        "Unread records", "Records that the rooms have not read, by room and topic. A replay pauses while there are many.", "none",
        [(f"sum by (consumergroup, topic) ({greatest('tidings_consumergroup_lag', 'consumergroup, topic, partition')})", "{{consumergroup}} {{topic}}")],
        "runbooks/TidingsLagGrows.md", 12)

    made.row("What it changes")
    made.lines(
        "Events", "Events told and expired a second, those of the replay among them.", "cps",
        [(rate("tidings_fanout_events_total", "outcome"), "{{outcome}}")], "replay.md#what-it-does-and-what-it-never-does")
    made.lines(
        "Rows", "Rows a second. A row that exists is written again as it is.", "cps",
        [(rate("tidings_fanout_rows_total", "outcome"), "{{outcome}}")], "replay.md#what-it-does-and-what-it-never-does")
    made.lines(
        "Passed over", "People that a replayed event does not reach, a second: they came later, were erased, or are told elsewhere.", "cps",
        [(rate("tidings_fanout_passed_over_total", "because"), "{{because}}")], "replay.md#what-it-does-and-what-it-never-does")
    made.lines(
        "Refused once more", "Replayed changes that are refused again, a second.", "cps",
        [(rate("tidings_ingest_refused_total", "way"), "{{way}}")], "replay.md#events-or-changes")
    made.lines(
        "Records in quarantine", "By topic, room and sort of reason.", "none",
        [(greatest("tidings_quarantine_waiting_records", "topic, room, because"), "{{topic}} {{room}} {{because}}")], "runbooks/TidingsQuarantineWaits.md", limits=(1,))
    made.lines(
        "Messages", "Messages decided a second, by plan. Without --tell-missing a replay adds none.", "cps",
        [(rate("tidings_digest_readys_total", "plan"), "{{plan}}")], "replay.md#what-it-does-and-what-it-never-does")

    made.row("Whether others wait")
    made.lines(
        "Age of the oldest unread record", "By room and topic.", "s",
        [(greatest("tidings_consumergroup_lag_seconds", "consumergroup, topic"), "{{consumergroup}} {{topic}}")], "runbooks/TidingsLagGrows.md", limits=(300,))
    made.lines(
        "Urgent: from event to told", "Urgent messages beside the replay.", "s", quantiles("tidings_event_to_told_seconds"),
        "runbooks/TidingsUrgentTooLate.md", limits=(URGENT,))
    made.lines(
        "Digests: from due to told", "Digests beside the replay.", "s", quantiles("tidings_due_to_told_seconds"),
        "runbooks/TidingsDigestsTooLate.md", limits=(DIGEST,))
    return made
