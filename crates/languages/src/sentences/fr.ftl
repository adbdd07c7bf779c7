# Ce que la maison dit elle-même aux lecteurs.

## Pourquoi quelqu’un est informé
follows = vous suivez { $names }
near = c’est { $distance }
named = c’est pour vous
mutual = vous et { $names }
mutual-clause = il s’agit de vous et de { $names }
listed = choisi pour vous
listed-clause = cela a été choisi pour vous
everyone = c’est pour tout le monde
near-you = près de vous
distance = à { $km } km de vous
distance-short = à moins de 1 km de vous
unnamed = quelque chose sans nom
somebody = quelqu’un d’autre
clauses-two = { $first } et { $last }
clauses-middle = { $first }, { $last }
clauses-last = { $first }, et { $last }

## Listes, nombres, dates
more-names = { $count ->
    [one] { $count } autre
    [many] { $count } d’autres
   *[other] { $count } autres
}
and-more = { $count ->
    [one] { $says } (et { $count } autre)
    [many] { $says } (et { $count } d’autres)
   *[other] { $says } (et { $count } autres)
}
capped = plus de { $most }
moment = { $day }, { $time }

## La page du lien d’un mail
page-title = Les mails de { $sender }
no-more = Ne plus recevoir de mails
asks = Ne plus recevoir de mails de { $sender } ?
asks-lead = Appuyez sur le bouton pour arrêter tous les mails de { $sender }. Rien n’a encore changé.
asks-plan = Plutôt { $plan } ?
asks-plan-lead = Appuyez sur le bouton, et les nouveautés arriveront désormais dans ce mail. Rien n’a encore changé.
plan-instead = Plutôt { $plan }
asks-less = Moins de « { $name } » ?
asks-less-lead = Appuyez sur le bouton, et { $sender } ne vous en parlera plus, ni par mail ni autrement. Rien n’a encore changé.
less-of-this = Moins de cela
holds-plan = { $plan } : c’est déjà votre choix
nothing-changed = Rien n’a changé.
holds-less = « { $name } » : vous n’en entendez déjà plus parler
holds-less-lead = Rien n’a changé. « Annuler » revient en arrière.
outdated = Ce lien n’est plus à jour
outdated-choices = Rien n’a changé. Voici ce que vous pouvez choisir maintenant.
outdated-stop = Rien n’a changé. Vous pouvez toujours arrêter tous les mails de { $sender }.
changed = C’est fait : { $plan }
changed-lead = Ce qui est nouveau depuis votre dernier mail arrivera avec le prochain de ceux-ci.
less = C’est fait : moins de « { $name } »
less-lead = { $sender } ne vous en parle plus. « Annuler » revient en arrière.
more = Vous entendrez de nouveau parler de « { $name } »
more-lead = Ce qui est nouveau à partir de maintenant arrivera avec vos mails.
on-again = Vous recevez de nouveau les mails de { $sender }
on-again-lead = Ce qui est nouveau depuis votre dernier mail arrivera avec le prochain.
gone = Il n’y a rien à faire
gone-lead = Vous ne recevez aucun mail de { $sender } : ce qui était conservé à votre sujet a été supprimé.
off = C’est fait : vous ne recevrez plus de mails de { $sender }
off-lead = Une erreur ? Annulez ici.
is-off = Vous ne recevez pas de mails de { $sender }
is-off-lead = Si vous en voulez de nouveau, appuyez sur ce bouton.
send-again = Recevoir de nouveau les mails
how-often = À quelle fréquence
on-now = choix actuel
instead = Plutôt ceci
no-more-of = Vous n’entendez plus parler de
take-back = Annuler
take-back-of = Annuler : { $name }
none-at-all = Aucun mail

## La page de ce qui attend
rest-title = Ce qui vous attend chez { $sender }
rest-none = Rien ne vous attend
rest-gone = Ce que { $sender } conservait à votre sujet a été supprimé.
rest-items = En attente de votre prochain mail
rest-items-lead = Voici ce que { $sender } vous dirait maintenant. Inutile d’attendre.
rest-more = { $count ->
    [one] Et { $count } autre ensuite.
    [many] Et { $count } d’autres ensuite.
   *[other] Et { $count } autres ensuite.
}
rest-off = Vous ne recevez pas de mails de { $sender }.
rest-empty = Tout ce qui restait est arrivé entre-temps ou n’est plus vrai. Les nouveautés arriveront avec votre prochain mail.
rest-door = Choisir les mails que vous recevez

## La page de tous les réglages
settings-title = Ce que vous recevez de { $sender }
settings-lead = Choisissez ce qui vous est annoncé, et à quel rythme. Rien ne change avant l’enregistrement.
settings-saved = Enregistré
settings-saved-lead = C’est valable dès maintenant.
settings-tried = Pas encore enregistré
settings-tried-lead = La semaine dernière aurait été comme ci-dessous.
settings-refused-lead = Quelque chose ne va pas encore ci-dessous. Rien n’a changé.
settings-door = Tous les réglages
settings-back = Arrêter tous les mails
settings-topics = Ce qui vous est annoncé
settings-channels = Par quel moyen
settings-always = toujours
settings-off = pas du tout
settings-usual = comme d’habitude
settings-usual-known = comme d’habitude ({ $usual })
settings-chosen = comme choisi ci-dessus
settings-plan = { $channel } : à quel rythme
settings-hour = À cette heure
settings-quiet-from = Silence à partir de
settings-quiet-until = Silence jusqu’à
settings-no-quiet = pas d’heures de silence
settings-quiet-half = Choisissez les deux heures, ou aucune heure de silence.
settings-quiet-equal = Choisissez deux heures différentes.
settings-pause = Pause jusqu’au
settings-pause-over = Cette date est passée. Choisissez une date ultérieure.
settings-times = Quand et dans quelle langue
settings-language = Langue
settings-save = Enregistrer
settings-try = Montrer la semaine dernière
settings-again = Annoncer de nouveau
settings-again-of = Annoncer de nouveau : { $name }
settings-subscriptions = Vos abonnements
settings-end = Se désabonner
settings-end-of = Se désabonner : { $name }
settings-ended = Abonnement terminé : { $name }
settings-not-shown = Non affichés ici : { $count }
settings-week = La semaine dernière avec ces choix
settings-week-line = { $count ->
    [one] { $count } message reçu
    [many] { $count } de messages reçus
   *[other] { $count } messages reçus
}
settings-week-none = Rien ne serait venu.
channel-email = E-mail
channel-push = Notification push
channel-feed = Sur le site
cadence-at-once = tout de suite
cadence-hourly = plusieurs fois par jour
cadence-daily = chaque jour
cadence-weekly = chaque semaine
cadence-monthly = chaque mois
cadence-other = de temps en temps
language-name = Français

## Ce que propose une notification
push-read = Marquer comme lu
push-settings = Réglages

## Erreurs de ces pages
error-incomplete = Ce lien est incomplet ; ouvrez-le de nouveau depuis le mail, ou copiez-le en entier.
error-busy = Ce n’est pas possible pour le moment ; réessayez dans un instant.
error-old = Ce mail est trop ancien pour cela ; il est peut-être passé en d’autres mains.
error-old-rest = Ce mail est trop ancien pour montrer les nouveautés ; il est peut-être passé en d’autres mains.
error-often = C’était trop souvent ; réessayez dans une heure.
error-form = Ce formulaire n’appartient pas à cette page.
error-long = Ce formulaire est trop long.
error-missing = Il n’y a pas de page à cette adresse.
error-use = Cette adresse ne s’utilise pas ainsi ; revenez en arrière et servez-vous des boutons de la page.
error-again = Revenez en arrière, rechargez la page et réessayez.
title-missing = Page introuvable
title-refused = Non autorisé
title-busy = Indisponible pour le moment
title-often = Trop de demandes
title-long = Trop long
title-bad = Cette demande ne peut pas être traitée
title-use = Impossible ici
title-failed = Cela n’a pas fonctionné
title-other = Une erreur est survenue
