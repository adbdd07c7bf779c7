// What the bell says in German. `fresh` has a form for each plural of the language; {n} is a number.
export const words = {
  title: 'Mitteilungen', fresh: {one: '{n} neue', other: '{n} neue'}, all: 'Alle', unread: 'Ungelesen', saved: 'Gemerkt',
  empty: 'Noch nichts da', emptyUnread: 'Alles gelesen', emptySaved: 'Nichts gemerkt', readAll: 'Alle gelesen',
  markRead: 'Gelesen', markUnread: 'Ungelesen', save: 'Merken', unsave: 'Nicht mehr merken', tomorrow: 'Morgen erinnern',
  clear: 'Entfernen', cleared: 'Entfernt', snoozed: 'Kommt morgen wieder', undo: 'Rückgängig', more: 'Mehr', open: 'Alle {n} zeigen',
  close: 'Schließen', fold: 'Weniger zeigen', loading: 'Wird geladen …', offline: 'Keine Verbindung. Das hier ist vielleicht nicht aktuell.',
  failed: 'Das hat nicht geklappt.', denied: 'Bitte melden Sie sich neu an.', again: 'Noch einmal',
};
