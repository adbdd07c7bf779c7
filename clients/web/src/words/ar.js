// What the bell says in Arabic. `fresh` has a form for each plural of the language; {n} is a number.
export const words = {
  title: 'الإشعارات',
  fresh: {zero: 'لا جديد', one: 'إشعار جديد', two: 'إشعاران جديدان', few: '{n} إشعارات جديدة', many: '{n} إشعارًا جديدًا', other: '{n} إشعار جديد'},
  all: 'الكل', unread: 'غير المقروءة', saved: 'المحفوظة', empty: 'لا شيء هنا بعد', emptyUnread: 'قرأت كل شيء', emptySaved: 'لا شيء محفوظ',
  readAll: 'تعليم الكل كمقروء', markRead: 'تعليم كمقروء', markUnread: 'تعليم كغير مقروء', save: 'حفظ', unsave: 'إلغاء الحفظ',
  tomorrow: 'ذكّرني غدًا', clear: 'إزالة', cleared: 'أُزيل', snoozed: 'يعود غدًا', undo: 'تراجع', more: 'المزيد', open: 'عرض الكل ({n})', close: 'إغلاق',
  fold: 'عرض أقل', loading: 'جارٍ التحميل…', offline: 'لا يوجد اتصال. قد لا يكون هذا محدّثًا.', failed: 'لم ينجح ذلك.', denied: 'يرجى تسجيل الدخول من جديد.',
  again: 'إعادة المحاولة',
};
