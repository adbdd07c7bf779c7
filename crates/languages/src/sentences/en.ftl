# What the house itself says to readers.

## Why somebody is told something
follows = you follow { $names }
near = it is { $distance }
named = it is for you
mutual = you and { $names }
mutual-clause = it is about you and { $names }
listed = picked for you
listed-clause = it was picked for you
everyone = it is for everyone
near-you = near you
distance = { $km } km from you
distance-short = less than 1 km from you
unnamed = this { $sort }
somebody = somebody else
clauses-two = { $first } and { $last }
clauses-middle = { $first }, { $last }
clauses-last = { $first }, and { $last }

## Lists, numbers, dates
more-names = { $count } more
and-more = { $says } (and { $count } more)
capped = { $most }+
moment = { $day }, { $time }

## The page of a mail's link
page-title = Mail from { $sender }
no-more = No more mail
asks = No more mail from { $sender }?
asks-lead = Press the button to stop all mail from { $sender }. Nothing has changed yet.
asks-plan = { $plan } instead?
asks-plan-lead = Press the button, and news comes in that mail from then on. Nothing has changed yet.
plan-instead = { $plan } instead
asks-less = Less of “{ $name }”?
asks-less-lead = Press the button, and { $sender } stops telling you about it, by mail or otherwise. Nothing has changed yet.
less-of-this = Less of this
holds-plan = { $plan } is on already
nothing-changed = Nothing has changed.
holds-less = You already hear no more of “{ $name }”
holds-less-lead = Nothing has changed. “Take back” undoes it.
outdated = This link is out of date
outdated-choices = Nothing has changed. These are your choices now.
outdated-stop = Nothing has changed. You can still stop all mail from { $sender }.
changed = Done: { $plan }
changed-lead = What is new since your last mail comes with the next one of these.
less = Done: less of “{ $name }”
less-lead = { $sender } has stopped telling you about it. “Take back” undoes this.
more = You hear of “{ $name }” again
more-lead = What is new from now on comes with your mails.
on-again = You get mail from { $sender } again
on-again-lead = What is new since your last mail comes with the next one.
gone = There is nothing to do
gone-lead = You get no mail from { $sender }: what was kept about you was removed.
off = Done: no more mail from { $sender }
off-lead = Pressed by mistake? Undo it here.
is-off = You get no mail from { $sender }
is-off-lead = If you would like it again, press this button.
send-again = Send me mail again
how-often = How often
on-now = on now
instead = Instead
no-more-of = You hear no more of
take-back = Take back
take-back-of = Take back: { $name }
none-at-all = None at all

## The page of what waits
rest-title = Waiting for you at { $sender }
rest-none = Nothing waits for you
rest-gone = What { $sender } kept about you was removed.
rest-items = Waiting for your next mail
rest-items-lead = This is what { $sender } would tell you now. You need not wait for it.
rest-more = And { $count } more after these.
rest-off = You get no mail from { $sender }.
rest-empty = All that was carried over has come by now, or is no longer true. What is new comes with your next mail.
rest-door = Change which mails you get

## The page of all settings
settings-title = What you get from { $sender }
settings-lead = Choose what you are told, and how often. Nothing changes until you save.
settings-saved = Saved
settings-saved-lead = This holds from now on.
settings-tried = Not saved yet
settings-tried-lead = Last week would have been as below.
settings-refused-lead = Something below is not right yet. Nothing has changed.
settings-door = All settings
settings-back = Stop all mail
settings-topics = What you are told
settings-channels = Where
settings-always = always
settings-off = not at all
settings-usual = as usual
settings-usual-known = as usual ({ $usual })
settings-chosen = as chosen above
settings-plan = { $channel }: how often
settings-hour = At this hour
settings-quiet-from = Quiet from
settings-quiet-until = Quiet until
settings-no-quiet = no quiet hours
settings-quiet-half = Choose both hours, or no quiet hours at all.
settings-quiet-equal = Choose two different hours.
settings-pause = Pause until
settings-pause-over = This date is over. Choose a later date.
settings-times = When and in which language
settings-language = Language
settings-save = Save
settings-try = Show last week
settings-again = Show again
settings-again-of = Show again: { $name }
settings-subscriptions = You are subscribed to
settings-end = Unsubscribe
settings-end-of = Unsubscribe: { $name }
settings-ended = Unsubscribed: { $name }
settings-not-shown = Not shown here: { $count }
settings-week = Last week by these choices
settings-week-line = { $count ->
    [one] 1 message
   *[other] { $count } messages
}
settings-week-none = Nothing would have come.
channel-email = Mail
channel-push = Push
channel-feed = On the site
cadence-at-once = at once
cadence-hourly = several times a day
cadence-daily = daily
cadence-weekly = weekly
cadence-monthly = monthly
cadence-other = now and then
language-name = English

## What a push offers
push-read = Mark as read
push-settings = Settings

## Errors of these pages
error-incomplete = This link is incomplete; open it again from the mail, or copy all of it.
error-busy = This cannot be done right now; try again in a moment.
error-old = This mail is too old for that; it may be in other hands by now.
error-old-rest = This mail is too old to show what is new; it may be in other hands by now.
error-often = This was requested too often; try again in an hour.
error-form = This form does not belong to this page.
error-long = This form is too long.
error-missing = There is no page at this address.
error-use = This address cannot be used this way; go back and use the page's own buttons.
error-again = Go back, load the page again, and retry.
title-missing = Page not found
title-refused = Not allowed
title-busy = Not available right now
title-often = Too many requests
title-long = Too long
title-bad = This request cannot be handled
title-use = Not possible here
title-failed = This did not work
title-other = Something went wrong
