"""The dashboard of senders and providers: what leaves, by which way, what comes back."""

from board import Board, quantiles, rate



def board():
    made = Board("tidings-senders", "Tidings / Senders and providers", "What leaves by which way, which providers are left alone, and what comes back.", "watching.md#dashboards")
    made.row("Providers")
    made.number(
        "Providers left alone", "Providers that did not answer or turned everything away, and are left alone for a while.", "none",
        "count(min by (release, channel, provider) (tidings_courier_provider_up{@}) == 0) or vector(0)", "runbooks/TidingsProviderLeftAlone.md", 8, (1,))
    made.number(
        "In flight", "Messages that senders have in hand; by channel and process at most 128 that are urgent and 128 others.", "none",
        "sum(tidings_sender_in_flight_messages{@})", "mail.md", 8)
    made.number(
        "Outcome unknown", "Messages of the last 24 hours of which nobody knows whether they left.", "none",
        'sum(increase(tidings_sender_outcomes_total{@, outcome="unknown"}[1d]))', "runbooks/TidingsUnknownMessages.md", 8, (1,))
    made.lines(
        "Providers in use", "1 while a sender uses a provider, 0 while it is left alone, as of the last message for it; the least of all senders.", "none",
        [("min by (channel, provider) (tidings_courier_provider_up{@})", "{{channel}} {{provider}}")], "runbooks/TidingsProviderLeftAlone.md", limits=(-1,))
    made.lines(
        "Hand-overs", "What providers answer, a second.", "cps",
        [(rate("tidings_courier_handovers_total", "channel, provider, outcome"), "{{channel}} {{provider}} {{outcome}}")], "runbooks/TidingsProviderLeftAlone.md")
    made.lines(
        "Accepted by each provider", "The share of hand-overs that each provider accepted.", "percentunit",
        [(rate("tidings_courier_handovers_total", "channel, provider", ', outcome="accepted"') + " / " + rate("tidings_courier_handovers_total", "channel, provider"), "{{channel}} {{provider}}")],
        "runbooks/TidingsProviderLeftAlone.md")
    made.lines(
        "Time of a provider", "How long a provider takes for one message.", "s",
        quantiles("tidings_courier_handover_seconds", "channel, provider", "{{channel}} {{provider}}"), "runbooks/TidingsProviderLeftAlone.md", limits=(3,))

    made.row("Senders")
    made.lines(
        "Outcomes", "What became of messages, a second. Each attempt counts once.", "cps",
        [(rate("tidings_sender_outcomes_total", "channel, outcome"), "{{channel}} {{outcome}}")], "operating.md#metrics")
    made.lines(
        "Waits", "Why messages wait, a second: no provider takes any, too many go that way, one is slow, or these were turned away.", "cps",
        [(rate("tidings_sender_waits_total", "channel, what"), "{{channel}} {{what}}")], "runbooks/TidingsChannelDown.md")
    made.lines(
        "Messages that wait", "Messages that were due, were not taken, and wait for another try.", "none",
        [("sum(tidings_digest_waiting_messages{@})", "waiting")], "runbooks/TidingsChannelDown.md")
    made.lines(
        "The message that waits longest", "How long ago it was due.", "s",
        [("time() - min(tidings_digest_waiting_oldest_timestamp_seconds{@} > 0) or vector(0)", "oldest")], "runbooks/TidingsChannelDown.md", limits=(3600,))
    made.lines(
        "Hand-over of the sender", "How long the sender has a message in hand, the last check included.", "s",
        quantiles("tidings_sender_hand_over_seconds", "channel", "{{channel}}"), "runbooks/TidingsDigestsTooLate.md")
    made.lines(
        "In flight by channel", "Messages that senders have in hand.", "none",
        [("sum by (channel) (tidings_sender_in_flight_messages{@})", "{{channel}}")], "mail.md")
    made.lines(
        "Unknown by channel", "Messages of an hour of which nobody knows whether they left.", "none",
        [('sum by (channel) (increase(tidings_sender_outcomes_total{@, outcome="unknown"}[1h]))', "{{channel}}")], "runbooks/TidingsUnknownMessages.md", limits=(1,))
    made.lines(
        "Left out", "Entries a second that were no longer to be told at the last check, and why.", "cps",
        [(rate("tidings_sender_left_out_total", "why"), "{{why}}")], "operating.md#why-was-she-told-or-not")

    made.row("What comes back")
    made.lines(
        "Returns", "Reports a second by the way they came: bounces, complaints, and reports that match no message of ours.", "cps",
        [(rate("tidings_ingest_returns_total", "way, what"), "{{way}} {{what}}")], "runbooks/TidingsBouncesHigh.md")
    made.lines(
        "Refused while handing over", "Recipients that a server rejected at once, a second.", "cps",
        [(rate("tidings_sender_came_back_total", "what"), "{{what}}")], "runbooks/TidingsBouncesHigh.md")
    made.lines(
        "Bounces", "Hard bounces of an hour as a share of the mails of that hour. Providers stop senders at 5 to 10 %.", "percentunit",
        [('((sum(rate(tidings_ingest_returns_total{@, what="hard"}[1h])) or vector(0)) + (sum(rate(tidings_sender_came_back_total{@, what="hard"}[1h])) or vector(0)))'
          ' / sum(rate(tidings_sender_outcomes_total{@, channel="email", outcome=~"sent|refused"}[1h]))', "bounces")],
        "runbooks/TidingsBouncesHigh.md", limits=(0.05,))
    made.lines(
        "Complaints", "Complaints of an hour as a share of the mails of that hour. Mailbox providers filter senders above 0.3 %.", "percentunit",
        [('(sum(rate(tidings_ingest_returns_total{@, what="complaint"}[1h])) or vector(0)) / sum(rate(tidings_sender_outcomes_total{@, channel="email", outcome="sent"}[1h]))', "complaints")],
        "runbooks/TidingsComplaintsHigh.md", limits=(0.003,))
    made.lines(
        "Bounces and complaints by plan", "The share of each plan's mails of the last hour. Above limits.bounces or limits.complaints the plan pauses itself.", "percentunit",
        [("max by (plan, what) (tidings_returns_ratio{@})", "{{plan}} {{what}}")], "runbooks/TidingsPaused.md")
    made.lines(
        "Devices gone", "Devices a second that a push service no longer knows.", "cps",
        [(rate("tidings_sender_devices_gone_total", "platform"), "{{platform}}")], "push.md")
    made.lines(
        "Hooks gone", "Addresses of hooks a second that want no more calls.", "cps",
        [(rate("tidings_sender_hooks_gone_total", "channel"), "{{channel}}")], "channels.md#what-becomes-of-a-call")
    return made
