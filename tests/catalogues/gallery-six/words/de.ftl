# Was die Galerie ihren Lesern sagt.

an-artist = Jemand, dem du folgst
a-new-work = ein neues Werk
a-new-show = Eine neue Ausstellung
a-work = ein Werk
quoted = „{ $name }“
work-added = { $artist } zeigt neu „{ $title }“
with-artists = mit { $artists }
opens-at = , Eröffnung { $day } um { $time }
you-may-like = Vielleicht gefällt dir „{ $title }“
you-may-like-by = Vielleicht gefällt dir „{ $title }“ von { $artist }

# Betreffzeilen
two = { $one } und { $two }
several = { $one }, { $two } und { $more ->
    [one] noch { $more }
   *[other] { $more } weitere
}
of-near = : in deiner Nähe
of-picked = : für dich ausgesucht
of-shows = : neue Ausstellungen
of-works = : neue Werke
your-week = Deine Woche:

# Titel
daily-mail = Tägliche Mail
weekly-mail = Wöchentliche Mail
new-works = Neue Werke
shows = Ausstellungen, denen du folgst
near-you = In deiner Nähe
picked = Für dich ausgesucht

# Mails
hello = Hallo
hello-name = Hallo { $name }
things = { $count ->
    [one] { $count } Neuigkeit, die du vielleicht sehen möchtest.
   *[other] { $count } Neuigkeiten, die du vielleicht sehen möchtest.
}
by = von { $artist }
a-show-with = , eine Ausstellung mit { $artists }
opens = Eröffnung { $day }, { $time }
maybe = Vielleicht schon einmal gesendet
maybe-within = vielleicht schon einmal gesendet
count-shows = { $count ->
    [one] { $count } neue Ausstellung
   *[other] { $count } neue Ausstellungen
}
count-works = { $count ->
    [one] { $count } neues Werk
   *[other] { $count } neue Werke
}
less-of-this = Weniger davon
less-of-these = Weniger davon
see-more = { $count ->
    [one] Noch { $count } ansehen
   *[other] { $count } weitere ansehen
}
more = { $count ->
    [one] Noch { $count } in der nächsten Mail.
   *[other] { $count } weitere in der nächsten Mail.
}
waits = { $count ->
    [one] Noch { $count } wartet auf deine nächste Mail.
   *[other] { $count } weitere warten auf deine nächste Mail.
}
see-now = { $count ->
   *[other] Jetzt ansehen:
}
foot = Du bekommst diese Mail höchstens einmal am Tag und nur, wenn es etwas Neues gibt: von Künstlern und Galerien, denen du folgst, in deiner Nähe oder für dich ausgesucht.
foot-weekly = Du bekommst diese Mail sonntags und nur, wenn es etwas Neues gibt: von Künstlern und Galerien, denen du folgst, in deiner Nähe oder für dich ausgesucht.
instead = Stattdessen: { $title }
settings = Alle Einstellungen
no-more = Keine Mails mehr
no-more-or-less = Keine Mails mehr, oder von manchem weniger:
