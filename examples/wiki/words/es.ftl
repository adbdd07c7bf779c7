# Lo que el wiki dice a sus lectores.

somebody = Alguien
a-page = una página
your-page = tu página
your-page-first = Tu página
quoted = : «{ $text }»

people = { $others ->
    [0] { $who }
    [one] { $who } y { $shown } persona más
   *[other] { $who } y { $shown } personas más
}

page-edited = { $who } ha editado { $page }
pages-edited = { $people }: { $page } { $count ->
    [one] editada { $shown } vez
   *[other] editada { $shown } veces
}
page-linked = { $who } ha enlazado { $page }
page-linked-from = { $who } ha enlazado { $page } desde { $from }
pages-linked = { $page }: enlazada desde { $count ->
    [one] { $shown } página
   *[other] { $shown } páginas
}
mentioned = { $who } te ha mencionado en { $page }
mentions = { $people }: te mencionan en { $page } { $count ->
    [one] { $shown } vez
   *[other] { $shown } veces
}
reverted = { $who } ha deshecho tu edición de { $page }
reverts = { $people }: { $count ->
    [one] { $shown } de tus ediciones
   *[other] { $shown } de tus ediciones
} de { $page } deshechas
thanked = { $who } te agradece tu edición de { $page }
thanks = { $people }: gracias por tus ediciones de { $page }
talk = { $who } ha dejado un mensaje en tu página de discusión
talks = { $people }: { $count ->
    [one] { $shown } mensaje
   *[other] { $shown } mensajes
} en tu página de discusión
welcome = Te damos la bienvenida al wiki
welcome-name = Te damos la bienvenida al wiki, { $name }

things = { $count ->
    [one] { $count } novedad
   *[other] { $count } novedades
} en tus páginas
things-of-week = { $count ->
    [one] { $count } novedad
   *[other] { $count } novedades
} en tus páginas esta semana
plan-single = Cada una al momento
plan-daily = Cada día
plan-weekly = Cada semana
plan-greeting = Bienvenida
title-pages = Tus páginas
title-welcome = Bienvenida
title-alerts = Alertas
title-notices = Avisos

maybe = quizá ya enviado antes
maybe-line = Quizá ya enviado antes.
more = { $count ->
   *[other] { $count } más en el próximo correo.
}
foot = Recibes este correo por lo que pasa en tus páginas o en las que sigues.
less-of-this = Menos de esto
instead = Cambiar a «{ $title }»
settings = Todos los ajustes
less = No recibir más correos, o recibir menos
