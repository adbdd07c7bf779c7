// What the bell says in English. `fresh` has a form for each plural of the language; {n} is a number.
export const words = {
  title: 'Notifications', fresh: {one: '{n} new', other: '{n} new'}, all: 'All', unread: 'Unread', saved: 'Saved',
  empty: 'Nothing here yet', emptyUnread: 'You have read everything', emptySaved: 'Nothing saved', readAll: 'Mark all as read',
  markRead: 'Mark read', markUnread: 'Mark unread', save: 'Save', unsave: 'Unsave', tomorrow: 'Remind me tomorrow', clear: 'Clear',
  cleared: 'Cleared', snoozed: 'Back tomorrow', undo: 'Undo', more: 'More', open: 'Show all {n}', close: 'Close', fold: 'Show fewer',
  loading: 'Loading…', offline: 'No connection. This may be out of date.', failed: 'That did not work.', denied: 'Please sign in again.',
  again: 'Try again',
};
