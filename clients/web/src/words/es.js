// What the bell says in Spanish. `fresh` has a form for each plural of the language; {n} is a number.
export const words = {
  title: 'Notificaciones', fresh: {one: '{n} nueva', other: '{n} nuevas'}, all: 'Todas', unread: 'Sin leer', saved: 'Guardadas',
  empty: 'Aún no hay nada', emptyUnread: 'Lo ha leído todo', emptySaved: 'Nada guardado', readAll: 'Marcar todo como leído',
  markRead: 'Leído', markUnread: 'No leído', save: 'Guardar', unsave: 'No guardar', tomorrow: 'Recordármelo mañana', clear: 'Quitar',
  cleared: 'Quitado', snoozed: 'Vuelve mañana', undo: 'Deshacer', more: 'Más', open: 'Mostrar todo ({n})', close: 'Cerrar', fold: 'Mostrar menos',
  loading: 'Cargando…', offline: 'Sin conexión. Puede que esto no esté al día.', failed: 'No ha funcionado.', denied: 'Vuelva a iniciar sesión.',
  again: 'Reintentar',
};
