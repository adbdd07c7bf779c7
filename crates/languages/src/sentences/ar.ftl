# ما تقوله الخدمة نفسها للقراء.

## لماذا يصل الخبر
follows = أنت تتابع { $names }
near = يقع { $distance }
named = هذا لك
mutual = أنت و{ $names }
mutual-clause = هذا عنك وعن { $names }
listed = مختار لك
listed-clause = اختير هذا لك
everyone = هذا للجميع
near-you = بالقرب منك
distance = على بُعد { $km } كم منك
distance-short = على بُعد أقل من 1 كم منك
unnamed = شيء بلا اسم
somebody = شخص آخر
clauses-two = { $first }، و{ $last }
clauses-middle = { $first }، و{ $last }
clauses-last = { $first }، و{ $last }

## القوائم والأعداد والتواريخ
more-names = { $count ->
    [zero] لا أحد غيرهم
    [one] واحد آخر
    [two] اثنان آخران
    [few] { $count } آخرين
    [many] { $count } آخرين
   *[other] { $count } آخرين
}
and-more = { $count ->
    [zero] { $says }
    [one] { $says } (وخبر واحد آخر)
    [two] { $says } (وخبران آخران)
    [few] { $says } (و{ $count } أخبار أخرى)
    [many] { $says } (و{ $count } خبرًا آخر)
   *[other] { $says } (و{ $count } خبر آخر)
}
capped = أكثر من { $most }
moment = { $day }، { $time }

## صفحة رابط الرسالة
page-title = رسائل { $sender }
no-more = إيقاف الرسائل
asks = هل تريد إيقاف رسائل { $sender }؟
asks-lead = اضغط الزر لإيقاف كل رسائل { $sender }. لم يتغير شيء بعد.
asks-plan = { $plan } بدلًا من ذلك؟
asks-plan-lead = اضغط الزر لتصلك الأخبار في تلك الرسالة من الآن فصاعدًا. لم يتغير شيء بعد.
plan-instead = { $plan } بدلًا من ذلك
asks-less = أخبار أقل عن «{ $name }»؟
asks-less-lead = اضغط الزر ولن يخبرك { $sender } بهذا بعد الآن، لا بالبريد ولا بغيره. لم يتغير شيء بعد.
less-of-this = أقل من هذا
holds-plan = { $plan } مفعّل بالفعل
nothing-changed = لم يتغير شيء.
holds-less = لا تصلك أخبار «{ $name }» بالفعل
holds-less-lead = لم يتغير شيء. زر «تراجع» يلغي ذلك.
outdated = هذا الرابط لم يعد صالحًا
outdated-choices = لم يتغير شيء. هذه خياراتك الآن.
outdated-stop = لم يتغير شيء. ما زال بإمكانك إيقاف كل رسائل { $sender }.
changed = تم: { $plan }
changed-lead = كل جديد منذ آخر رسالة لك سيصل مع الرسالة التالية من هذا النوع.
less = تم: أخبار أقل عن «{ $name }»
less-lead = لن يخبرك { $sender } بهذا بعد الآن. زر «تراجع» يلغي ذلك.
more = ستصلك أخبار «{ $name }» من جديد
more-lead = كل جديد من الآن سيصل مع رسائلك.
on-again = ستصلك رسائل { $sender } من جديد
on-again-lead = كل جديد منذ آخر رسالة لك سيصل مع الرسالة التالية.
gone = لا يوجد ما تفعله
gone-lead = لا تصلك رسائل من { $sender }: فقد حُذف كل ما كان محفوظًا عنك.
off = تم: لن تصلك رسائل { $sender } بعد الآن
off-lead = هل ضغطت بالخطأ؟ تراجع من هنا.
is-off = لا تصلك رسائل من { $sender }
is-off-lead = إذا أردتها من جديد فاضغط هذا الزر.
send-again = أرسلوا الرسائل من جديد
how-often = كم مرة
on-now = مفعّل الآن
instead = بدلًا من ذلك
no-more-of = لا تصلك أخبار عن
take-back = تراجع
take-back-of = تراجع: { $name }
none-at-all = بلا أي رسائل

## صفحة ما ينتظر
rest-title = ما ينتظرك لدى { $sender }
rest-none = لا شيء ينتظرك
rest-gone = حُذف كل ما كان { $sender } يحفظه عنك.
rest-items = في انتظار رسالتك التالية
rest-items-lead = هذا ما كان { $sender } سيخبرك به الآن. لا حاجة إلى الانتظار.
rest-more = { $count ->
    [zero] ولا شيء بعد ذلك.
    [one] وخبر واحد آخر بعد ذلك.
    [two] وخبران آخران بعد ذلك.
    [few] و{ $count } أخبار أخرى بعد ذلك.
    [many] و{ $count } خبرًا آخر بعد ذلك.
   *[other] و{ $count } خبر آخر بعد ذلك.
}
rest-off = لا تصلك رسائل من { $sender }.
rest-empty = كل ما تأجل قد وصل أو لم يعد صحيحًا. كل جديد سيصل مع رسالتك التالية.
rest-door = تغيير الرسائل التي تصلك

## صفحة كل الإعدادات
settings-title = ما يصلك من { $sender }
settings-lead = اختر ما نخبرك به وكم مرة. لا يتغير شيء قبل الحفظ.
settings-saved = تم الحفظ
settings-saved-lead = يسري هذا من الآن.
settings-tried = لم يُحفظ بعد
settings-tried-lead = كان الأسبوع الماضي سيكون كما يلي.
settings-refused-lead = هناك ما يحتاج إلى تصحيح أدناه. لم يتغير شيء.
settings-door = كل الإعدادات
settings-back = إيقاف كل الرسائل
settings-topics = ما نخبرك به
settings-channels = بأي طريق
settings-always = دائمًا
settings-off = لا شيء
settings-usual = كالمعتاد
settings-usual-known = كالمعتاد ({ $usual })
settings-chosen = كما اخترت أعلاه
settings-plan = { $channel }: كم مرة
settings-hour = في هذه الساعة
settings-quiet-from = هدوء من
settings-quiet-until = هدوء حتى
settings-no-quiet = بلا ساعات هدوء
settings-quiet-half = اختر الساعتين معًا، أو «بلا ساعات هدوء» في الحقلين.
settings-quiet-equal = اختر ساعتين مختلفتين.
settings-pause = إيقاف مؤقت حتى
settings-pause-over = مضى هذا التاريخ. اختر تاريخًا لاحقًا.
settings-times = متى وبأي لغة
settings-language = اللغة
settings-save = حفظ
settings-try = عرض الأسبوع الماضي
settings-again = إظهار من جديد
settings-again-of = إظهار من جديد: { $name }
settings-subscriptions = اشتراكاتك
settings-end = إلغاء الاشتراك
settings-end-of = إلغاء الاشتراك: { $name }
settings-ended = أُلغي الاشتراك: { $name }
settings-not-shown = غير معروض هنا: { $count }
settings-week = الأسبوع الماضي بهذه الخيارات
settings-week-line = { $count ->
    [zero] لا رسائل
    [one] رسالة واحدة
    [two] رسالتان
    [few] { $count } رسائل
    [many] { $count } رسالة
   *[other] { $count } رسالة
}
settings-week-none = لم يكن ليصلك شيء.
channel-email = البريد
channel-push = إشعار فوري
channel-feed = على الموقع
cadence-at-once = فورًا
cadence-hourly = عدة مرات في اليوم
cadence-daily = يوميًا
cadence-weekly = أسبوعيًا
cadence-monthly = شهريًا
cadence-other = من حين إلى آخر
language-name = العربية

## ما يعرضه الإشعار
push-read = تعليم كمقروء
push-settings = الإعدادات

## أخطاء هذه الصفحات
error-incomplete = هذا الرابط غير كامل؛ افتحه مرة أخرى من الرسالة أو انسخه كاملًا.
error-busy = لا يمكن ذلك الآن؛ حاول مرة أخرى بعد قليل.
error-old = هذه الرسالة قديمة جدًا لذلك؛ فقد تكون الآن في أيدٍ أخرى.
error-old-rest = هذه الرسالة قديمة جدًا لعرض الجديد؛ فقد تكون الآن في أيدٍ أخرى.
error-often = طُلب هذا مرات كثيرة جدًا؛ حاول مرة أخرى بعد ساعة.
error-form = هذا النموذج لا يخص هذه الصفحة.
error-long = هذا النموذج طويل جدًا.
error-missing = لا توجد صفحة على هذا العنوان.
error-use = لا يمكن استخدام هذا العنوان بهذه الطريقة؛ ارجع واستخدم أزرار الصفحة.
error-again = ارجع وأعد تحميل الصفحة ثم حاول مرة أخرى.
title-missing = الصفحة غير موجودة
title-refused = غير مسموح
title-busy = غير متاح الآن
title-often = طلبات كثيرة جدًا
title-long = طويل جدًا
title-bad = لا يمكن معالجة هذا الطلب
title-use = غير ممكن هنا
title-failed = لم ينجح ذلك
title-other = حدث خطأ ما
