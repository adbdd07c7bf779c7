"""The dashboard of what people get: how much, how soon, what was left out, and what they did with it."""

from board import DIGEST, DIGEST_KEPT, URGENT, URGENT_KEPT, Board, greatest, late, quantiles, rate


def board():
    made = Board("tidings-people", "Tidings / What people get", "How much people are told, how soon, what was left out and why, and what they did with it.", "watching.md#dashboards")
    made.row("In time")
    made.lines(
        f"Urgent: share within {URGENT} s", f"The share of urgent messages told within {URGENT} s of their event, by channel.", "percentunit",
        [(late("tidings_event_to_told_seconds", URGENT, "channel"), "{{channel}}")], "runbooks/TidingsUrgentTooLate.md", 12, (-URGENT_KEPT,))
    made.lines(
        "Urgent: from event to told", "From the event's own time until a provider has accepted the message; urgent plans only.", "s",
        quantiles("tidings_event_to_told_seconds", "channel", "{{channel}}", (0.5, 0.99)), "runbooks/TidingsUrgentTooLate.md", 12, (URGENT,))
    made.lines(
        f"Digests: share within {DIGEST // 60} min", f"The share of digests told within {DIGEST // 60} minutes of their time, by channel.", "percentunit",
        [(late("tidings_due_to_told_seconds", DIGEST, "channel"), "{{channel}}")], "runbooks/TidingsDigestsTooLate.md", 12, (-DIGEST_KEPT,))
    made.lines(
        "Digests: from due to told", "From the time of a window until a provider has accepted the message.", "s",
        quantiles("tidings_due_to_told_seconds", "channel", "{{channel}}", (0.5, 0.99)), "runbooks/TidingsDigestsTooLate.md", 12, (DIGEST,))

    made.row("Messages")
    made.number(
        "Told in the last hour", "Messages that providers accepted in the last hour.", "none",
        'sum(increase(tidings_sender_outcomes_total{@, outcome="sent"}[1h]))', "watching.md#what-is-promised", 8)
    made.number(
        "Outcome unknown", "Messages of the last 24 hours of which nobody knows whether they left.", "none",
        'sum(increase(tidings_sender_outcomes_total{@, outcome="unknown"}[1d]))', "runbooks/TidingsUnknownMessages.md", 8, (1,))
    made.number(
        "Full days in the last day", "Rows for which a person's day had no room in the last 24 hours, urgent ones included.", "none",
        'sum(increase(tidings_fanout_rows_total{@, outcome=~"full|urgent_full"}[1d]))', "operating.md#metrics", 8, (1,))
    made.lines(
        "Told", "Messages that providers accepted a second, by channel.", "cps",
        [(rate("tidings_sender_outcomes_total", "channel", ', outcome="sent"'), "{{channel}}")], "channels.md", stacked=True)
    made.lines(
        "Decided, by plan", "Messages that the digest decided on a second, by plan.", "cps",
        [(rate("tidings_digest_readys_total", "plan"), "{{plan}}")], "windows.md", stacked=True)
    made.lines(
        "Not told", "Messages a second that did not go out, by channel and what became of them.", "cps",
        [(rate("tidings_sender_outcomes_total", "channel, outcome", ', outcome!="sent"'), "{{channel}} {{outcome}}")], "operating.md#metrics")

    made.row("Entries")
    made.lines(
        "Written into days", "Entries a second, by what became of the row.", "cps",
        [(rate("tidings_fanout_rows_total", "outcome"), "{{outcome}}")], "operating.md#metrics")
    made.lines(
        "Passed over", "People an event did not reach, a second: erased, there only later, or told elsewhere.", "cps",
        [(rate("tidings_fanout_passed_over_total", "because"), "{{because}}")], "replay.md#what-it-does-and-what-it-never-does")
    made.lines(
        "Left out at the last check", "Entries a second that were no longer to be told when their message was about to leave, and why.", "cps",
        [(rate("tidings_sender_left_out_total", "why"), "{{why}}")], "operating.md#why-was-she-told-or-not")

    made.row("Windows")
    made.lines(
        "Open", "Open windows. Somebody waits for something in each of them.", "none",
        [(f"sum by (release) ({greatest('tidings_digest_open_windows', 'release, partition')})", "open {{release}}")], "windows.md")
    made.lines(
        "Due", "Windows whose time has come and that are not closed yet; 10,000 people of a partition are counted at most.", "none",
        [(f"sum by (release) ({greatest('tidings_digest_due_windows', 'release, partition')})", "due {{release}}")], "runbooks/TidingsDueWindowsWait.md", limits=(1,))
    made.lines(
        "Held", "Windows whose time has come and that wait: the person is online, has quiet hours, or has heard enough for now.", "none",
        [(f"sum by (because) ({greatest('tidings_digest_held_windows', 'release, partition, because')})", "{{because}}")], "windows.md#what-holds-it")
    made.lines(
        "Paused", "Plans, channels and tenants that an operator has paused. Nothing of them is told until the pause ends.", "none",
        [("count(max by (release, what, name) (tidings_pause_info{@})) or vector(0)", "paused")], "runbooks/TidingsPaused.md", limits=(1,))
    made.lines(
        "People remembered", "People of whom the digest remembers something. It takes at most 4 KB of memory for each.", "none",
        [(f"sum by (release) ({greatest('tidings_digest_remembered_persons', 'release, partition')})", "people {{release}}")], "kubernetes.md#sizes")
    made.lines(
        "Closed", "Windows closed a second, and closings in a row that told nothing, which are a bug of Tidings.", "cps",
        [("sum(rate(tidings_digest_windows_closed_total{@}[$__rate_interval]))", "closed"), (rate("tidings_digest_idle_closings_total", "plan"), "idle {{plan}}")],
        "windows.md#when-it-closes")
    made.lines(
        "Expired or of an older catalogue", "Events a second that came too late to be told, and events that an older catalogue told.", "cps",
        [(rate("tidings_fanout_events_total", "outcome", ', outcome="expired"'), "{{outcome}}"), ("sum(rate(tidings_fanout_older_total{@}[$__rate_interval]))", "older catalogue")],
        "runbooks/TidingsCatalogueAwaited.md")

    made.row("What they did with it")
    made.lines(
        "Opened and followed", "Opened mails and followed links an hour, by plan and who it was: a reader, a proxy or a robot.", "none",
        [("sum by (plan, what, who) (increase(tidings_visits_total{@}[1h]))", "{{plan}} {{what}} {{who}}")], "mail.md")

    made.row("Feeds")
    made.lines(
        "Time to an answer", "How long 99 of 100 requests for a feed took, by path.", "s",
        quantiles("tidings_feed_request_seconds", "path", "{{path}}", (0.99,)), "feed.md#the-room-feed", 12)
    made.lines(
        "Requests", "Requests for feeds a second, by path and status.", "reqps",
        [(rate("tidings_feed_request_seconds_count", "path, status"), "{{path}} {{status}}")], "feed.md", 12, stacked=True)
    made.lines(
        "Days kept in memory", "How the days of persons were had, a second: kept, renewed (only what changed was read), read whole, or unkept while the log is not read.", "ops",
        [(rate("tidings_feed_reads_total", "how"), "{{how}}")], "feed.md#the-room-feed", 8, stacked=True)
    made.lines(
        "Days read", "Days of persons asked of the store a second, and records of the log that say whose days changed.", "ops",
        [("sum(rate(tidings_feed_days_read_total{@}[$__rate_interval]))", "days"), ("sum(rate(tidings_feed_records_total{@}[$__rate_interval]))", "records")], "feed.md#the-room-feed", 8)
    made.lines(
        "Marks", "Marks that people made in a feed, a second, by what they did.", "ops",
        [(rate("tidings_feed_marks_total", "mark"), "{{mark}}")], "feed.md#marks", 8, stacked=True)
    made.lines(
        "Live connections", "Connections that wait for news of a feed.", "none",
        [("sum(tidings_feed_live_connections{@})", "connections")], "feed.md#live", 12)
    made.lines(
        "Live events", "Events sent to them, a second.", "ops",
        [("sum(rate(tidings_feed_live_events_total{@}[$__rate_interval]))", "events")], "feed.md#live", 12)

    made.row("Slots")
    made.lines(
        "Time to a slot", "How long 99 of 100 requests for a slot took, by what was asked for: its picture, or its page.", "s",
        quantiles("tidings_slots_request_seconds", "asked", "{{asked}}", (0.99,)), "runbooks/TidingsSlotsSlow.md")
    made.lines(
        "Shown at slots", "Requests for slots a second, by who asked (a reader, a proxy or a robot) and what they were led to (a thing, or the banner).", "reqps",
        [(rate("tidings_slots_request_seconds_count", "visitor, shown"), "{{visitor}} {{shown}}")], "runbooks/TidingsSlotsShowBanners.md", stacked=True)
    made.lines(
        "Lists of slots", "How lists that were not in memory were had, a second: first, followed, kept, theirs (another process was first); or why a banner was shown: crowded, failed, late.", "ops",
        [(rate("tidings_slots_lists_total", "how"), "{{how}}")], "slots.md#how-a-list-lives", stacked=True)
    return made
