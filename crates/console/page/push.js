// Shows pushes when no page is open, and opens what they are about. What arrives is as courier::push writes it for the web.
'use strict';

self.addEventListener('push', event => {
  const {title, body, tag, silent, badge, image, opens} = event.data ? event.data.json() : {};
  const shown = {body, tag, silent: Boolean(silent), data: {opens}};
  if (image) shown.image = image;
  const work = [];
  if (title) work.push(self.registration.showNotification(title, shown));
  if (Number.isInteger(badge) && navigator.setAppBadge) work.push(navigator.setAppBadge(badge).catch(() => {}));
  event.waitUntil(Promise.all(work));
});

self.addEventListener('notificationclick', event => {
  event.notification.close();
  const {opens} = event.notification.data || {};
  // Nothing but pages of the web, whoever wrote it.
  const address = URL.canParse(opens || '') ? new URL(opens) : null;
  if (address && ['https:', 'http:'].includes(address.protocol)) {
    event.waitUntil(self.clients.openWindow(address.href));
  }
});
