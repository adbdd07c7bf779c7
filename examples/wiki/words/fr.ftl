# Ce que le wiki dit à ses lecteurs.

somebody = Quelqu’un
a-page = une page
your-page = votre page
your-page-first = Votre page
quoted = { " " }: « { $text } »

people = { $others ->
    [0] { $who }
    [one] { $who } et { $shown } autre personne
   *[other] { $who } et { $shown } autres personnes
}

page-edited = { $who } a modifié { $page }
pages-edited = { $people } : { $page } { $count ->
    [one] modifiée { $shown } fois
   *[other] modifiée { $shown } fois
}
page-linked = { $who } a créé un lien vers { $page }
page-linked-from = { $who } a créé un lien vers { $page } depuis { $from }
pages-linked = { $page } : des liens depuis { $count ->
    [one] { $shown } page
   *[other] { $shown } pages
}
mentioned = { $who } vous a mentionné sur { $page }
mentions = { $people } : mention de vous sur { $page }, { $count ->
    [one] { $shown } fois
   *[other] { $shown } fois
}
reverted = { $who } a annulé votre modification de { $page }
reverts = { $people } : { $count ->
    [one] { $shown } de vos modifications
   *[other] { $shown } de vos modifications
} de { $page } annulées
thanked = { $who } vous a remercié pour votre modification de { $page }
thanks = { $people } : merci pour vos modifications de { $page }
talk = { $who } a laissé un message sur votre page de discussion
talks = { $people } : { $count ->
    [one] { $shown } message
   *[other] { $shown } messages
} sur votre page de discussion
welcome = Bienvenue sur le wiki
welcome-name = Bienvenue sur le wiki, { $name }

things = { $count ->
    [one] { $count } nouveauté
   *[other] { $count } nouveautés
} sur vos pages
things-of-week = { $count ->
    [one] { $count } nouveauté
   *[other] { $count } nouveautés
} sur vos pages cette semaine
plan-single = Chacune tout de suite
plan-daily = Chaque jour
plan-weekly = Chaque semaine
plan-greeting = Bienvenue
title-pages = Vos pages
title-welcome = Bienvenue
title-alerts = Alertes
title-notices = Avis

maybe = peut-être déjà envoyé
maybe-line = Peut-être déjà envoyé.
more = { $count ->
    [one] Encore { $count } dans le prochain mail.
   *[other] Encore { $count } dans le prochain mail.
}
foot = Vous recevez ce mail pour ce qui arrive à vos pages ou à celles que vous suivez.
less-of-this = Moins de cela
instead = Plutôt « { $title } »
settings = Tous les réglages
less = Ne plus recevoir de mails, ou en recevoir moins
