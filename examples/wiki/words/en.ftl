# What the wiki says to its readers. The other files have the same messages; `tidings check` says which one lacks what.

somebody = Somebody
a-page = a page
your-page = your page
your-page-first = Your page
quoted = : “{ $text }”

# Who did it, if it were several: the newest by name.
people = { $others ->
    [0] { $who }
    [one] { $who } and { $shown } other
   *[other] { $who } and { $shown } others
}

page-edited = { $who } edited { $page }
pages-edited = { $people } edited { $page } { $count ->
    [one] { $shown } time
   *[other] { $shown } times
}
page-linked = { $who } linked { $page }
page-linked-from = { $who } linked { $page } from { $from }
pages-linked = { $page } was linked from { $count ->
    [one] { $shown } page
   *[other] { $shown } pages
}
mentioned = { $who } mentioned you on { $page }
mentions = { $people } mentioned you on { $page } { $count ->
    [one] { $shown } time
   *[other] { $shown } times
}
reverted = { $who } undid your edit of { $page }
reverts = { $people } undid { $count ->
    [one] { $shown } of your edits
   *[other] { $shown } of your edits
} of { $page }
thanked = { $who } thanked you for your edit of { $page }
thanks = { $people } thanked you for your edits of { $page }
talk = { $who } left a message on your talk page
talks = { $people } left { $count ->
    [one] { $shown } message
   *[other] { $shown } messages
} on your talk page
welcome = Welcome to the wiki
welcome-name = Welcome to the wiki, { $name }

things = { $count ->
    [one] { $count } thing
   *[other] { $count } things
} on your pages
things-of-week = { $count ->
    [one] { $count } thing
   *[other] { $count } things
} on your pages this week
plan-single = Each at once
plan-daily = Every day
plan-weekly = Every week
plan-greeting = Greetings
title-pages = Your pages
title-welcome = Welcome
title-alerts = Alerts
title-notices = Notices

maybe = may have been sent before
maybe-line = May have been sent before.
more = { $count ->
   *[other] { $count } more in the next mail.
}
foot = You get this mail for what happens to pages of yours, or that you watch.
less-of-this = Less of this
instead = { $title } instead
settings = All settings
less = No more mail, or less of it
