// Shows pushes when no page is open, and opens what they are about. What arrives is as courier::push writes it for the web.
'use strict';

self.addEventListener('push', event => {
  const {title, body, tag, silent, badge, image, opens, read, settings, actions, withdrawn} =
    event.data ? event.data.json() : {};
  const shown = {body, tag, silent: Boolean(silent), data: {opens, read, settings}, actions: actions || []};
  if (image) shown.image = image;
  const work = (withdrawn || []).map(takeAway);
  if (title) work.push(self.registration.showNotification(title, shown));
  if (Number.isInteger(badge) && navigator.setAppBadge) work.push(navigator.setAppBadge(badge).catch(() => {}));
  event.waitUntil(Promise.all(work));
});

// What a push told was revoked: it is not shown any more.
async function takeAway(tag) {
  for (const shown of await self.registration.getNotifications({tag})) shown.close();
}

// Nothing but pages of the web, whoever wrote it.
function webAddress(text) {
  const address = URL.canParse(text || '') ? new URL(text) : null;
  return address && ['https:', 'http:'].includes(address.protocol) ? address.href : null;
}

// Who taps a notification, or its button, has read what it tells. Its settings say nothing of that.
self.addEventListener('notificationclick', event => {
  event.notification.close();
  const {opens, read, settings} = event.notification.data || {};
  const asksForSettings = event.action === 'settings';
  const shown = webAddress(asksForSettings ? settings : opens);
  const marked = asksForSettings ? null : webAddress(read);
  const work = [];
  if (marked) work.push(fetch(marked, {method: 'POST', mode: 'no-cors', keepalive: true}).catch(() => {}));
  if (shown && event.action !== 'read') work.push(self.clients.openWindow(shown));
  event.waitUntil(Promise.all(work));
});
