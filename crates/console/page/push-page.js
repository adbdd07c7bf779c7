// Makes this browser a device of a person, or ends that. The page that needs it has no other script.
'use strict';

const form = document.querySelector('#push');
const said = document.querySelector('#said');

function say(text, isGood) {
  said.textContent = text;
  said.className = isGood ? 'done' : 'bad';
  said.hidden = false;
}

// The house's key, as a browser wants it.
function bytes(text) {
  const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(plain, letter => letter.charCodeAt(0));
}

async function tell(subscription, what) {
  const {csrf, person} = form.elements;
  const fields = {csrf: csrf.value, person: person.value, what, subscription: JSON.stringify(subscription)};
  const answer = await fetch('/push', {method: 'POST', body: new URLSearchParams(fields)});
  const {detail} = await answer.json().catch(() => ({detail: `the house answered ${answer.status}; load the page again`}));
  if (detail) throw new Error(detail);
}

async function begin() {
  if (await Notification.requestPermission() !== 'granted') {
    throw new Error('this browser may show no notifications of this page; its settings can allow it');
  }
  await navigator.serviceWorker.register('/push.js');
  const {pushManager} = await navigator.serviceWorker.ready;
  // One that was made with another key is of no use any more.
  const before = await pushManager.getSubscription();
  if (before) await before.unsubscribe();
  const options = {userVisibleOnly: true, applicationServerKey: bytes(form.dataset.key)};
  await tell(await pushManager.subscribe(options), 'begin');
  return `From now on this browser shows what is pushed to ${form.elements.person.value}.`;
}

async function end() {
  const registration = await navigator.serviceWorker.getRegistration('/');
  const subscription = registration && await registration.pushManager.getSubscription();
  if (!subscription) throw new Error('this browser shows no pushes of this house');
  await tell(subscription, 'end');
  await subscription.unsubscribe();
  return 'This browser shows no more of it.';
}

form.addEventListener('submit', async event => {
  event.preventDefault();
  try {
    say(await (event.submitter?.value === 'end' ? end() : begin()), true);
  } catch (error) {
    say(error.message, false);
  }
});
