# ما تقوله الويكي لقرائها.

somebody = شخص ما
a-page = صفحة
your-page = صفحتك
your-page-first = صفحتك
quoted = : «{ $text }»

people = { $others ->
    [0] { $who }
    [zero] { $who }
    [one] { $who } وشخص آخر
    [two] { $who } وشخصان آخران
    [few] { $who } و{ $shown } أشخاص آخرين
    [many] { $who } و{ $shown } شخصًا آخر
   *[other] { $who } و{ $shown } شخص آخر
}

page-edited = عدّل { $who } صفحة { $page }
pages-edited = { $people }: عُدّلت صفحة { $page } { $count ->
    [zero] بلا أي تعديل
    [one] مرة واحدة
    [two] مرتين
    [few] { $shown } مرات
    [many] { $shown } مرة
   *[other] { $shown } مرة
}
page-linked = أضاف { $who } رابطًا إلى صفحة { $page }
page-linked-from = أضاف { $who } رابطًا إلى صفحة { $page } من صفحة { $from }
pages-linked = { $page }: روابط من { $count ->
    [zero] لا شيء
    [one] صفحة واحدة
    [two] صفحتين
    [few] { $shown } صفحات
    [many] { $shown } صفحة
   *[other] { $shown } صفحة
}
mentioned = ذكرك { $who } في صفحة { $page }
mentions = { $people }: ذُكرت في صفحة { $page } { $count ->
    [zero] بلا أي ذكر
    [one] مرة واحدة
    [two] مرتين
    [few] { $shown } مرات
    [many] { $shown } مرة
   *[other] { $shown } مرة
}
reverted = تراجع { $who } عن تعديلك لصفحة { $page }
reverts = { $people }: تراجع عن { $count ->
    [zero] لا شيء
    [one] تعديل واحد
    [two] تعديلين
    [few] { $shown } تعديلات
    [many] { $shown } تعديلًا
   *[other] { $shown } تعديل
} لك في صفحة { $page }
thanked = شكرك { $who } على تعديلك لصفحة { $page }
thanks = { $people }: شكر لك على تعديلاتك لصفحة { $page }
talk = ترك { $who } رسالة في صفحة نقاشك
talks = { $people }: { $count ->
    [zero] لا رسائل
    [one] رسالة واحدة
    [two] رسالتان
    [few] { $shown } رسائل
    [many] { $shown } رسالة
   *[other] { $shown } رسالة
} في صفحة نقاشك
welcome = أهلًا بك في الويكي
welcome-name = أهلًا بك في الويكي يا { $name }

things = { $count ->
    [zero] لا جديد
    [one] خبر واحد
    [two] خبران
    [few] { $count } أخبار
    [many] { $count } خبرًا
   *[other] { $count } خبر
} عن صفحاتك
things-of-week = { $count ->
    [zero] لا جديد
    [one] خبر واحد
    [two] خبران
    [few] { $count } أخبار
    [many] { $count } خبرًا
   *[other] { $count } خبر
} عن صفحاتك هذا الأسبوع
plan-single = كل خبر فورًا
plan-daily = كل يوم
plan-weekly = كل أسبوع
plan-greeting = ترحيب
title-pages = صفحاتك
title-welcome = أهلًا بك
title-alerts = تنبيهات
title-notices = إشعارات

maybe = ربما أُرسل من قبل
maybe-line = ربما أُرسل من قبل.
more = { $count ->
    [zero] لا شيء آخر في الرسالة التالية.
    [one] خبر آخر في الرسالة التالية.
    [two] خبران آخران في الرسالة التالية.
    [few] { $count } أخبار أخرى في الرسالة التالية.
    [many] { $count } خبرًا آخر في الرسالة التالية.
   *[other] { $count } خبر آخر في الرسالة التالية.
}
foot = تصلك هذه الرسالة بشأن ما يحدث في صفحاتك أو في الصفحات التي تراقبها.
less-of-this = أقل من هذا
instead = { $title } بدلًا من ذلك
settings = كل الإعدادات
less = إيقاف الرسائل أو تقليلها
