# Was das Haus selbst zu Lesern sagt.

## Warum jemand etwas erfährt
follows = du folgst { $names }
near = es ist { $distance }
named = es ist für dich
mutual = du und { $names }
mutual-clause = es geht um dich und { $names }
listed = für dich ausgesucht
listed-clause = es wurde für dich ausgesucht
everyone = es ist für alle
near-you = in deiner Nähe
distance = { $km } km von dir entfernt
distance-short = weniger als 1 km von dir entfernt
unnamed = etwas, das hier keinen Namen hat
somebody = jemand anderes
clauses-two = { $first } und { $last }
clauses-middle = { $first }, { $last }
clauses-last = { $first }, und { $last }

## Aufzählungen, Zahlen, Daten
more-names = { $count ->
    [one] noch 1
   *[other] { $count } weitere
}
and-more = { $count ->
    [one] { $says } (und noch 1)
   *[other] { $says } (und { $count } weitere)
}
capped = über { $most }
moment = { $day }, { $time }

## Die Seite hinter dem Link einer Mail
page-title = Mails von { $sender }
no-more = Keine Mails mehr
asks = Keine Mails mehr von { $sender }?
asks-lead = Mit dem Knopf beendest du alle Mails von { $sender }. Noch ist nichts geändert.
asks-plan = Stattdessen „{ $plan }“?
asks-plan-lead = Mit dem Knopf kommt Neues von nun an in dieser Mail. Noch ist nichts geändert.
plan-instead = Stattdessen „{ $plan }“
asks-less = Weniger von „{ $name }“?
asks-less-lead = Wenn du auf den Knopf drückst, meldet dir { $sender } dazu nichts mehr, weder per Mail noch anders. Noch ist nichts geändert.
less-of-this = Weniger davon
holds-plan = „{ $plan }“ ist schon ausgewählt
nothing-changed = Es ist nichts geändert.
holds-less = Von „{ $name }“ hörst du schon nichts mehr
holds-less-lead = Es ist nichts geändert. „Zurücknehmen“ hebt es auf.
outdated = Dieser Link ist veraltet
outdated-choices = Es ist nichts geändert. Das hier kannst du jetzt wählen.
outdated-stop = Es ist nichts geändert. Du kannst weiterhin alle Mails von { $sender } beenden.
changed = Erledigt: { $plan }
changed-lead = Was seit deiner letzten Mail neu ist, kommt mit der nächsten dieser Mails.
less = Erledigt: weniger von „{ $name }“
less-lead = { $sender } meldet dir dazu nichts mehr. „Zurücknehmen“ hebt das auf.
more = Du hörst wieder von „{ $name }“
more-lead = Was von nun an neu ist, kommt mit deinen Mails.
on-again = Du bekommst wieder Mails von { $sender }
on-again-lead = Was seit deiner letzten Mail neu ist, kommt mit der nächsten.
gone = Hier gibt es nichts zu tun
gone-lead = Du bekommst keine Mails von { $sender }: Was über dich gespeichert war, wurde gelöscht.
off = Erledigt: keine Mails mehr von { $sender }
off-lead = Aus Versehen gedrückt? Hier machst du es rückgängig.
is-off = Du bekommst keine Mails von { $sender }
is-off-lead = Wenn du sie wieder möchtest, drück diesen Knopf.
send-again = Wieder Mails bekommen
how-often = Wie oft
on-now = ausgewählt
instead = Stattdessen
no-more-of = Davon hörst du nichts mehr
take-back = Zurücknehmen
take-back-of = Zurücknehmen: { $name }
none-at-all = Gar keine

## Die Seite mit dem, was wartet
rest-title = Das wartet bei { $sender } auf dich
rest-none = Nichts wartet auf dich
rest-gone = Was { $sender } über dich gespeichert hatte, wurde gelöscht.
rest-items = Wartet auf deine nächste Mail
rest-items-lead = Das würde { $sender } dir jetzt melden. Du musst nicht darauf warten.
rest-more = { $count ->
    [one] Und danach noch 1.
   *[other] Und danach { $count } weitere.
}
rest-off = Du bekommst keine Mails von { $sender }.
rest-empty = Alles, was noch offen war, ist inzwischen gekommen oder gilt nicht mehr. Neues kommt mit deiner nächsten Mail.
rest-door = Ändern, welche Mails du bekommst

## Die Seite aller Einstellungen
settings-title = Was du von { $sender } bekommst
settings-lead = Wähle, was wir dir melden und wie oft. Geändert wird erst, wenn du speicherst.
settings-saved = Gespeichert
settings-saved-lead = Das gilt von jetzt an.
settings-tried = Noch nicht gespeichert
settings-tried-lead = Die letzte Woche wäre so gewesen wie unten.
settings-refused-lead = Unten stimmt etwas noch nicht. Geändert ist nichts.
settings-door = Alle Einstellungen
settings-back = Alle Mails beenden
settings-topics = Was wir dir melden
settings-channels = Auf welchem Weg
settings-always = immer
settings-off = gar nicht
settings-usual = wie üblich
settings-usual-known = wie üblich ({ $usual })
settings-chosen = wie oben gewählt
settings-plan = { $channel }: wie oft
settings-hour = Zu dieser Stunde
settings-quiet-from = Ruhe ab
settings-quiet-until = Ruhe bis
settings-no-quiet = keine Ruhezeit
settings-quiet-half = Wähle beide Uhrzeiten oder gar keine Ruhezeit.
settings-quiet-equal = Wähle zwei verschiedene Uhrzeiten.
settings-pause = Pause bis
settings-pause-over = Dieses Datum ist vorbei. Wähle ein späteres.
settings-times = Wann und in welcher Sprache
settings-language = Sprache
settings-save = Speichern
settings-try = Letzte Woche zeigen
settings-again = Wieder melden
settings-again-of = Wieder melden: { $name }
settings-subscriptions = Das hast du abonniert
settings-end = Abbestellen
settings-end-of = Abbestellen: { $name }
settings-ended = Abbestellt: { $name }
settings-not-shown = Hier nicht gezeigt: { $count }
settings-week = Die letzte Woche mit dieser Auswahl
settings-week-line = { $count ->
    [one] 1 Nachricht
   *[other] { $count } Nachrichten
}
settings-week-none = Es wäre nichts gekommen.
channel-email = E-Mail
channel-push = Push-Nachricht
channel-feed = Auf der Seite
cadence-at-once = sofort
cadence-hourly = mehrmals am Tag
cadence-daily = täglich
cadence-weekly = wöchentlich
cadence-monthly = monatlich
cadence-other = ab und zu
language-name = Deutsch

## Was eine Push-Nachricht anbietet
push-read = Gelesen
push-settings = Einstellungen

## Fehler dieser Seiten
error-incomplete = Dieser Link ist unvollständig; öffne ihn noch einmal aus der Mail oder kopiere ihn vollständig.
error-busy = Das geht gerade nicht; versuch es gleich noch einmal.
error-old = Diese Mail ist dafür zu alt; sie kann inzwischen in anderen Händen sein.
error-old-rest = Diese Mail ist zu alt, um Neues zu zeigen; sie kann inzwischen in anderen Händen sein.
error-often = Das war zu oft; versuch es in einer Stunde noch einmal.
error-form = Dieses Formular gehört nicht zu dieser Seite.
error-long = Dieses Formular ist zu lang.
error-missing = Unter dieser Adresse gibt es keine Seite.
error-use = So lässt sich diese Adresse nicht verwenden; geh zurück und nimm die Knöpfe der Seite.
error-again = Geh zurück, lade die Seite neu, und versuch es noch einmal.
title-missing = Seite nicht gefunden
title-refused = Nicht erlaubt
title-busy = Gerade nicht möglich
title-often = Zu viele Anfragen
title-long = Zu lang
title-bad = Diese Anfrage ist nicht möglich
title-use = Hier nicht möglich
title-failed = Das hat nicht geklappt
title-other = Etwas ist schiefgegangen
