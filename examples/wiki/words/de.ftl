# Was das Wiki seinen Lesern sagt.

somebody = Jemand
a-page = eine Seite
your-page = deine Seite
your-page-first = Deine Seite
quoted = : „{ $text }“

people = { $others ->
    [0] { $who }
    [one] { $who } und { $shown } weitere Person
   *[other] { $who } und { $shown } weitere
}

page-edited = { $who } hat { $page } bearbeitet
pages-edited = { $people }: { $page } { $count ->
    [one] { $shown }-mal bearbeitet
   *[other] { $shown }-mal bearbeitet
}
page-linked = { $who } hat { $page } verlinkt
page-linked-from = { $who } hat { $page } von { $from } aus verlinkt
pages-linked = { $page } wurde von { $count ->
    [one] { $shown } Seite
   *[other] { $shown } Seiten
} aus verlinkt
mentioned = { $who } hat dich auf { $page } erwähnt
mentions = { $people }: du wurdest auf { $page } { $count ->
    [one] { $shown }-mal erwähnt
   *[other] { $shown }-mal erwähnt
}
reverted = { $who } hat deine Änderung an { $page } rückgängig gemacht
reverts = { $people }: { $count ->
    [one] { $shown } deiner Änderungen
   *[other] { $shown } deiner Änderungen
} an { $page } rückgängig gemacht
thanked = { $who } hat dir für deine Änderung an { $page } gedankt
thanks = { $people }: Dank für deine Änderungen an { $page }
talk = { $who } hat dir auf deiner Diskussionsseite geschrieben
talks = { $people }: { $count ->
    [one] { $shown } Nachricht
   *[other] { $shown } Nachrichten
} auf deiner Diskussionsseite
welcome = Willkommen im Wiki
welcome-name = Willkommen im Wiki, { $name }

things = { $count ->
    [one] { $count } Neuigkeit
   *[other] { $count } Neuigkeiten
} auf deinen Seiten
things-of-week = { $count ->
    [one] { $count } Neuigkeit
   *[other] { $count } Neuigkeiten
} auf deinen Seiten in dieser Woche
plan-single = Jede sofort
plan-daily = Jeden Tag
plan-weekly = Jede Woche
plan-greeting = Begrüßung
title-pages = Deine Seiten
title-welcome = Willkommen
title-alerts = Hinweise
title-notices = Mitteilungen

maybe = vielleicht schon einmal gesendet
maybe-line = Vielleicht schon einmal gesendet.
more = { $count ->
    [one] Noch { $count } in der nächsten Mail.
   *[other] { $count } weitere in der nächsten Mail.
}
foot = Du bekommst diese Mail zu Seiten, die von dir sind oder die du beobachtest.
less-of-this = Weniger davon
instead = Stattdessen „{ $title }“
settings = Alle Einstellungen
less = Keine oder weniger Mails
