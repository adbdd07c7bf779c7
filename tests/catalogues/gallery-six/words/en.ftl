# What the gallery says to its readers. The other file has the same messages.

an-artist = An artist you follow
a-new-work = a new work
a-new-show = A new show
a-work = a work
quoted = “{ $name }”
work-added = { $artist } added “{ $title }”
with-artists = with { $artists }
opens-at = , opens { $day } at { $time }
you-may-like = You may like “{ $title }”
you-may-like-by = You may like “{ $title }” by { $artist }

# Headlines
two = { $one } and { $two }
several = { $one }, { $two } and { $more ->
   *[other] { $more } more
}
of-near = : near you
of-picked = : picked for you
of-shows = : new shows
of-works = : new works
your-week = Your week:

# Titles
daily-mail = Daily mail
weekly-mail = Weekly mail
new-works = New works
shows = Shows you follow
near-you = Near you
picked = Picked for you

# Mails
hello = Hello
hello-name = Hello, { $name }
things = { $count ->
    [one] { $count } thing you may want to see.
   *[other] { $count } things you may want to see.
}
by = by { $artist }
a-show-with = , a show with { $artists }
opens = Opens { $day }, { $time }
maybe = May have been sent before
maybe-within = may have been sent before
count-shows = { $count ->
    [one] { $count } new show
   *[other] { $count } new shows
}
count-works = { $count ->
    [one] { $count } new work
   *[other] { $count } new works
}
less-of-this = Less of this
less-of-these = Less of these
see-more = { $count ->
   *[other] See { $count } more
}
more = { $count ->
   *[other] { $count } more in the next mail.
}
waits = { $count ->
    [one] { $count } more waits for your next mail.
   *[other] { $count } more wait for your next mail.
}
see-now = { $count ->
    [one] See it now:
   *[other] See them now:
}
foot = You get this mail at most once a day, and only with something new in it: of the artists and galleries you follow, near where you live, or picked for you.
foot-weekly = You get this mail on Sundays, and only with something new in it: of the artists and galleries you follow, near where you live, or picked for you.
instead = { $title } instead
settings = All settings
no-more = No more mail
no-more-or-less = No more mail, or less of something:
