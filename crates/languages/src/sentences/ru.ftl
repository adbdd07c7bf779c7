# Что дом сам говорит читателям.

## Почему человек получает сообщение
follows = вы подписаны на { $names }
near = это { $distance }
named = это для вас
mutual = вы и { $names }
mutual-clause = это о вас и { $names }
listed = выбрано для вас
listed-clause = это выбрано для вас
everyone = это для всех
near-you = рядом с вами
distance = в { $km } км от вас
distance-short = менее чем в 1 км от вас
unnamed = что-то без названия
somebody = кто-то ещё
clauses-two = { $first }, и { $last }
clauses-middle = { $first }, { $last }
clauses-last = { $first }, и { $last }

## Списки, числа, даты
more-names = ещё { $count }
and-more = { $says } (и ещё { $count })
capped = больше { $most }
moment = { $day }, { $time }

## Страница по ссылке из письма
page-title = Письма от { $sender }
no-more = Больше не присылать
asks = Больше не получать письма от { $sender }?
asks-lead = Нажмите кнопку, чтобы отказаться от всех писем от { $sender }. Пока ничего не изменилось.
asks-plan = Вместо этого «{ $plan }»?
asks-plan-lead = Нажмите кнопку, и новости будут приходить в этих письмах. Пока ничего не изменилось.
plan-instead = Вместо этого «{ $plan }»
asks-less = Меньше сообщений о «{ $name }»?
asks-less-lead = Нажмите кнопку, и { $sender } больше не будет сообщать вам об этом ни по почте, ни иначе. Пока ничего не изменилось.
less-of-this = Меньше такого
holds-plan = «{ $plan }» уже выбрано
nothing-changed = Ничего не изменилось.
holds-less = Сообщений о «{ $name }» вы уже не получаете
holds-less-lead = Ничего не изменилось. Кнопка «Вернуть» отменит это.
outdated = Эта ссылка устарела
outdated-choices = Ничего не изменилось. Вот что можно выбрать сейчас.
outdated-stop = Ничего не изменилось. Вы по-прежнему можете отказаться от всех писем от { $sender }.
changed = Готово: { $plan }
changed-lead = Всё новое после вашего последнего письма придёт в следующем из этих писем.
less = Готово: меньше сообщений о «{ $name }»
less-lead = { $sender } больше не сообщает вам об этом. Кнопка «Вернуть» отменит это.
more = Вы снова получаете сообщения о «{ $name }»
more-lead = Всё новое с этого момента будет приходить в ваших письмах.
on-again = Вы снова получаете письма от { $sender }
on-again-lead = Всё новое после вашего последнего письма придёт в следующем.
gone = Делать ничего не нужно
gone-lead = Вы не получаете писем от { $sender }: сведения о вас удалены.
off = Готово: писем от { $sender } больше не будет
off-lead = Нажали по ошибке? Здесь можно всё вернуть.
is-off = Вы не получаете писем от { $sender }
is-off-lead = Если хотите получать их снова, нажмите эту кнопку.
send-again = Снова присылать письма
how-often = Как часто
on-now = выбрано
instead = Выбрать это
no-more-of = Вы больше не получаете сообщений о
take-back = Вернуть
take-back-of = Вернуть: { $name }
none-at-all = Никаких писем

## Страница того, что ждёт
rest-title = Что вас ждёт: { $sender }
rest-none = Вас ничего не ждёт
rest-gone = Сведения о вас, которые хранил { $sender }, удалены.
rest-items = Войдёт в следующее письмо
rest-items-lead = Вот что { $sender } сообщил бы вам сейчас. Ждать письма не нужно.
rest-more = { $count ->
    [one] И ещё { $count } сообщение после этих.
    [few] И ещё { $count } сообщения после этих.
    [many] И ещё { $count } сообщений после этих.
   *[other] И ещё { $count } сообщения после этих.
}
rest-off = Вы не получаете писем от { $sender }.
rest-empty = Всё отложенное уже пришло или больше не верно. Новое придёт в следующем письме.
rest-door = Изменить, какие письма вы получаете

## Страница всех настроек
settings-title = Что вы получаете от { $sender }
settings-lead = Выберите, о чём вам сообщать и как часто. Ничего не изменится, пока вы не сохраните.
settings-saved = Сохранено
settings-saved-lead = Это действует с этого момента.
settings-tried = Ещё не сохранено
settings-tried-lead = Прошлая неделя была бы такой, как ниже.
settings-refused-lead = Ниже нужно кое-что исправить. Ничего не изменилось.
settings-door = Все настройки
settings-back = Отказаться от всех писем
settings-topics = О чём вам сообщают
settings-channels = Каким способом
settings-always = всегда
settings-off = совсем нет
settings-usual = как обычно
settings-usual-known = как обычно ({ $usual })
settings-chosen = как выбрано выше
settings-plan = { $channel }: как часто
settings-hour = В этот час
settings-quiet-from = Тишина с
settings-quiet-until = Тишина до
settings-no-quiet = без тихих часов
settings-quiet-half = Выберите и начало, и конец тишины или оставьте оба поля «без тихих часов».
settings-quiet-equal = Выберите два разных часа.
settings-pause = Пауза до
settings-pause-over = Эта дата уже прошла. Выберите более позднюю.
settings-times = Когда и на каком языке
settings-language = Язык
settings-save = Сохранить
settings-try = Показать прошлую неделю
settings-again = Снова сообщать
settings-again-of = Снова сообщать: { $name }
settings-subscriptions = Ваши подписки
settings-end = Отписаться
settings-end-of = Отписаться: { $name }
settings-ended = Подписка отменена: { $name }
settings-not-shown = Здесь не показано: { $count }
settings-week = Прошлая неделя при этом выборе
settings-week-line = { $count ->
    [one] { $count } сообщение
    [few] { $count } сообщения
    [many] { $count } сообщений
   *[other] { $count } сообщения
}
settings-week-none = Ничего бы не пришло.
channel-email = Письма
channel-push = Push-уведомления
channel-feed = На сайте
cadence-at-once = сразу
cadence-hourly = несколько раз в день
cadence-daily = каждый день
cadence-weekly = каждую неделю
cadence-monthly = каждый месяц
cadence-other = время от времени
language-name = Русский

## Что предлагает push-уведомление
push-read = Прочитано
push-settings = Настройки

## Ошибки этих страниц
error-incomplete = Ссылка неполная; откройте её из письма ещё раз или скопируйте целиком.
error-busy = Сейчас это невозможно; попробуйте ещё раз через минуту.
error-old = Это письмо слишком старое, чтобы это сделать; оно могло попасть в другие руки.
error-old-rest = Это письмо слишком старое, чтобы показать новое; оно могло попасть в другие руки.
error-often = Слишком частые запросы; попробуйте через час.
error-form = Эта форма не с этой страницы.
error-long = Эта форма слишком длинная.
error-missing = По этому адресу нет страницы.
error-use = Этот адрес так использовать нельзя; вернитесь назад и воспользуйтесь кнопками страницы.
error-again = Вернитесь назад, обновите страницу и попробуйте ещё раз.
title-missing = Страница не найдена
title-refused = Доступ запрещён
title-busy = Сейчас недоступно
title-often = Слишком много запросов
title-long = Слишком длинно
title-bad = Этот запрос нельзя обработать
title-use = Здесь это невозможно
title-failed = Не получилось
title-other = Что-то пошло не так
