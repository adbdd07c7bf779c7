# Lo que la casa misma dice a los lectores.

## Por qué se informa a alguien
follows = sigues { $names }
near = está { $distance }
named = es para ti
mutual = tú y { $names }
mutual-clause = trata de ti y de { $names }
listed = elegido para ti
listed-clause = se eligió para ti
everyone = es para todos
near-you = cerca de ti
distance = a { $km } km de ti
distance-short = a menos de 1 km de ti
unnamed = algo sin nombre
somebody = otra persona
clauses-two = { $first } y { $last }
clauses-middle = { $first }, { $last }
clauses-last = { $first }, y { $last }

## Listas, números, fechas
more-names = { $count } más
and-more = { $says } (y { $count } más)
capped = más de { $most }
moment = { $day }, { $time }

## La página del enlace de un correo
page-title = Correos de { $sender }
no-more = No recibir más correos
asks = ¿No recibir más correos de { $sender }?
asks-lead = Pulsa el botón para dejar de recibir correos de { $sender }. Aún no ha cambiado nada.
asks-plan = ¿Cambiar a «{ $plan }»?
asks-plan-lead = Pulsa el botón y, desde entonces, las novedades llegarán en ese correo. Aún no ha cambiado nada.
plan-instead = Cambiar a «{ $plan }»
asks-less = ¿Menos de «{ $name }»?
asks-less-lead = Pulsa el botón y { $sender } no te hablará más de ello, ni por correo ni de otro modo. Aún no ha cambiado nada.
less-of-this = Menos de esto
holds-plan = { $plan }: ya está elegido
nothing-changed = No ha cambiado nada.
holds-less = Ya no recibes nada de «{ $name }»
holds-less-lead = No ha cambiado nada. «Deshacer» lo anula.
outdated = Este enlace ya no está al día
outdated-choices = No ha cambiado nada. Esto es lo que puedes elegir ahora.
outdated-stop = No ha cambiado nada. Aún puedes dejar de recibir todos los correos de { $sender }.
changed = Hecho: { $plan }
changed-lead = Lo nuevo desde tu último correo llegará con el próximo de estos.
less = Hecho: menos de «{ $name }»
less-lead = { $sender } ya no te habla de ello. «Deshacer» lo anula.
more = Vuelves a recibir noticias de «{ $name }»
more-lead = Lo nuevo desde ahora llegará con tus correos.
on-again = Vuelves a recibir correos de { $sender }
on-again-lead = Lo nuevo desde tu último correo llegará con el próximo.
gone = No hay nada que hacer
gone-lead = No recibes correos de { $sender }: lo que se guardaba sobre ti se ha borrado.
off = Hecho: no recibirás más correos de { $sender }
off-lead = ¿Fue un error? Deshazlo aquí.
is-off = No recibes correos de { $sender }
is-off-lead = Si los quieres de nuevo, pulsa este botón.
send-again = Volver a recibir correos
how-often = Con qué frecuencia
on-now = elegido ahora
instead = Cambiar a este
no-more-of = Ya no recibes nada de
take-back = Deshacer
take-back-of = Deshacer: { $name }
none-at-all = Ninguno

## La página de lo que espera
rest-title = Lo que te espera en { $sender }
rest-none = No te espera nada
rest-gone = Lo que { $sender } guardaba sobre ti se ha borrado.
rest-items = A la espera de tu próximo correo
rest-items-lead = Esto es lo que { $sender } te diría ahora. No hace falta esperar.
rest-more = Y { $count } más después de esto.
rest-off = No recibes correos de { $sender }.
rest-empty = Todo lo que quedaba ya ha llegado o ya no es cierto. Lo nuevo llegará con tu próximo correo.
rest-door = Cambiar qué correos recibes

## La página de todos los ajustes
settings-title = Lo que recibes de { $sender }
settings-lead = Elige de qué te avisamos y con qué frecuencia. Nada cambia hasta que guardes.
settings-saved = Guardado
settings-saved-lead = Vale desde ahora.
settings-tried = Aún sin guardar
settings-tried-lead = La semana pasada habría sido como abajo.
settings-refused-lead = Hay algo abajo que aún no está bien. No ha cambiado nada.
settings-door = Todos los ajustes
settings-back = Dejar de recibir correos
settings-topics = De qué te avisamos
settings-channels = Por qué medio
settings-always = siempre
settings-off = nada
settings-usual = como siempre
settings-usual-known = como siempre ({ $usual })
settings-chosen = como elegiste arriba
settings-plan = { $channel }: con qué frecuencia
settings-hour = A esta hora
settings-quiet-from = Silencio desde
settings-quiet-until = Silencio hasta
settings-no-quiet = sin horas de silencio
settings-quiet-half = Elige las dos horas, o «sin horas de silencio» en ambas.
settings-quiet-equal = Elige dos horas distintas.
settings-pause = Pausa hasta
settings-pause-over = Esta fecha ya ha pasado. Elige una posterior.
settings-times = Cuándo y en qué idioma
settings-language = Idioma
settings-save = Guardar
settings-try = Mostrar la semana pasada
settings-again = Volver a avisar
settings-again-of = Volver a avisar: { $name }
settings-subscriptions = Tus suscripciones
settings-end = Cancelar suscripción
settings-end-of = Cancelar suscripción: { $name }
settings-ended = Suscripción cancelada: { $name }
settings-not-shown = No se muestran aquí: { $count }
settings-week = La semana pasada con esta elección
settings-week-line = { $count ->
    [one] 1 mensaje
    [many] { $count } de mensajes
   *[other] { $count } mensajes
}
settings-week-none = No habría llegado nada.
channel-email = Correo
channel-push = Notificación push
channel-feed = En el sitio
cadence-at-once = al momento
cadence-hourly = varias veces al día
cadence-daily = cada día
cadence-weekly = cada semana
cadence-monthly = cada mes
cadence-other = de vez en cuando
language-name = Español

## Lo que ofrece una notificación
push-read = Marcar como leído
push-settings = Ajustes

## Errores de estas páginas
error-incomplete = Este enlace está incompleto; ábrelo de nuevo desde el correo o cópialo entero.
error-busy = Ahora mismo no es posible; inténtalo de nuevo en un momento.
error-old = Este correo es demasiado antiguo para eso; puede estar ya en otras manos.
error-old-rest = Este correo es demasiado antiguo para mostrar lo nuevo; puede estar ya en otras manos.
error-often = Se ha pedido demasiadas veces; inténtalo de nuevo dentro de una hora.
error-form = Este formulario no es de esta página.
error-long = Este formulario es demasiado largo.
error-missing = No hay ninguna página en esta dirección.
error-use = Esta dirección no se puede usar así; vuelve atrás y usa los botones de la página.
error-again = Vuelve atrás, carga la página otra vez e inténtalo de nuevo.
title-missing = Página no encontrada
title-refused = No permitido
title-busy = No disponible ahora mismo
title-often = Demasiadas peticiones
title-long = Demasiado largo
title-bad = Esta petición no se puede atender
title-use = Aquí no es posible
title-failed = No ha funcionado
title-other = Algo ha ido mal
