# Что вики говорит своим читателям.

somebody = Кто-то
a-page = страница
your-page = ваша страница
your-page-first = Ваша страница
quoted = : «{ $text }»

people = { $others ->
    [0] { $who }
    [one] { $who } и ещё { $shown } человек
    [few] { $who } и ещё { $shown } человека
    [many] { $who } и ещё { $shown } человек
   *[other] { $who } и ещё { $shown } человека
}

page-edited = { $who }: правка страницы «{ $page }»
pages-edited = { $people }: { $count ->
    [one] { $shown } правка
    [few] { $shown } правки
    [many] { $shown } правок
   *[other] { $shown } правки
} страницы «{ $page }»
page-linked = { $who }: ссылка на «{ $page }»
page-linked-from = { $who }: ссылка на «{ $page }» со страницы «{ $from }»
pages-linked = «{ $page }»: ссылки с { $count ->
    [one] { $shown } страницы
    [few] { $shown } страниц
    [many] { $shown } страниц
   *[other] { $shown } страницы
}
mentioned = { $who }: упоминание о вас на странице «{ $page }»
mentions = { $people }: { $count ->
    [one] { $shown } упоминание
    [few] { $shown } упоминания
    [many] { $shown } упоминаний
   *[other] { $shown } упоминания
} о вас на странице «{ $page }»
reverted = { $who }: отмена вашей правки страницы «{ $page }»
reverts = { $people }: { $count ->
    [one] { $shown } отмена
    [few] { $shown } отмены
    [many] { $shown } отмен
   *[other] { $shown } отмены
} ваших правок страницы «{ $page }»
thanked = { $who }: спасибо за вашу правку страницы «{ $page }»
thanks = { $people }: спасибо за ваши правки страницы «{ $page }»
talk = { $who }: сообщение на вашей странице обсуждения
talks = { $people }: { $count ->
    [one] { $shown } сообщение
    [few] { $shown } сообщения
    [many] { $shown } сообщений
   *[other] { $shown } сообщения
} на вашей странице обсуждения
welcome = Добро пожаловать в вики
welcome-name = Добро пожаловать в вики, { $name }

things = { $count ->
    [one] { $count } новость
    [few] { $count } новости
    [many] { $count } новостей
   *[other] { $count } новости
} на ваших страницах
things-of-week = { $count ->
    [one] { $count } новость
    [few] { $count } новости
    [many] { $count } новостей
   *[other] { $count } новости
} на ваших страницах за неделю
plan-single = Каждая сразу
plan-daily = Каждый день
plan-weekly = Каждую неделю
plan-greeting = Приветствие
title-pages = Ваши страницы
title-welcome = Добро пожаловать
title-alerts = Оповещения
title-notices = Уведомления

maybe = возможно, уже отправлялось
maybe-line = Возможно, уже отправлялось.
more = { $count ->
   *[other] Ещё { $count } в следующем письме.
}
foot = Вы получаете это письмо о страницах, которые вы создали или за которыми следите.
less-of-this = Меньше такого
instead = Вместо этого «{ $title }»
settings = Все настройки
less = Не присылать писем или присылать реже
