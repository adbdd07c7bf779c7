// What the bell says in French. `fresh` has a form for each plural of the language; {n} is a number.
export const words = {
  title: 'Notifications', fresh: {one: '{n} nouvelle', other: '{n} nouvelles'}, all: 'Toutes', unread: 'Non lues', saved: 'Gardées',
  empty: 'Rien pour le moment', emptyUnread: 'Vous avez tout lu', emptySaved: 'Rien de gardé',
  readAll: 'Tout marquer comme lu', markRead: 'Marquer lu', markUnread: 'Marquer non lu', save: 'Garder', unsave: 'Ne plus garder',
  tomorrow: 'Me le rappeler demain', clear: 'Retirer', cleared: 'Retiré', snoozed: 'De retour demain', undo: 'Annuler', more: 'Plus', open: 'Tout afficher ({n})',
  close: 'Fermer', fold: 'Afficher moins', loading: 'Chargement…', offline: 'Pas de connexion. Ceci n’est peut-être plus à jour.',
  failed: 'Cela n’a pas marché.', denied: 'Veuillez vous reconnecter.', again: 'Réessayer',
};
