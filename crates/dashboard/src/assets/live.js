// Keeps a page up to date: hears that something has changed, fetches the page again, and makes the parts
// with `data-live` like the fresh ones (`morph.js`). The page is whole without this.

const topics = new Set((document.body.dataset.topics ?? '').split(' ').filter(Boolean));
const pulse = document.getElementById('pulse');
const BETWEEN = 700;
/** After a refresh that has failed; the stream may be fine and have nothing more to tell. */
const AFTER_FAILURE = 5000;
/** A page that takes longer is asked for again: one that never came would stop all later refreshes. */
const LONGEST_FETCH = 20000;
/** The release of a press can get lost, outside of the window or in a menu. */
const LONGEST_PRESS = 10000;

let source;
let retry;
let pause = 1000;
let due;
let busy = false;
/** Ends the fetch that is under way. */
let request;
let again = false;
let isOpen = false;
let isStale = false;
let pressedUntil = 0;
/** Rows have to come or go, in a list that is held (`hold.js`). */
let isWaiting = false;
/** The page as it was fetched last: parts of it may wait to be shown. */
let latest;

function tell() {
  const [state, words] = !isOpen ? ['lost', 'Reconnecting']
    : isStale ? ['lost', 'Not up to date']
    : arrivals?.isPaused ? ['still', 'Paused']
    : isWaiting ? ['still', 'On hold'] : ['live', 'Live'];
  if (!pulse || (pulse.dataset.state === state && pulse.textContent === words)) return;
  pulse.dataset.state = state;
  pulse.textContent = words;
  pulse.title = state === 'still' && isWaiting
    ? 'Rows come and go when the pointer, the focus and the selection are elsewhere.' : '';
}

function listen() {
  retry = undefined;
  source = new EventSource('/ui/live');
  source.onopen = () => {
    // What has changed between the making of the page and this moment was told to nobody.
    renew();
    pause = 1000;
    isOpen = true;
    tell();
  };
  for (const topic of topics) source.addEventListener(topic, () => renew());
  source.addEventListener('bye', () => {
    source.close();
    location.reload();
  });
  source.onerror = () => {
    source.close();
    isOpen = false;
    tell();
    // It may be the session that is over, and not the connection: whoever asks for the page is told.
    renew();
    retry = setTimeout(listen, pause);
    pause = Math.min(pause * 2, 30000);
  };
}

function renew(after = BETWEEN) {
  if (due) return;
  due = setTimeout(fetchAgain, after);
}

async function fetchAgain() {
  due = undefined;
  if (busy || document.hidden) {
    again = true;
    return;
  }
  busy = true;
  request = new AbortController();
  try {
    const answer = await fetch(location.href, {
      headers: { 'x-trunkline-live': '1' },
      credentials: 'same-origin',
      signal: AbortSignal.any([request.signal, AbortSignal.timeout(LONGEST_FETCH)]),
    });
    if (answer.status === 401) location.reload();
    isStale = !answer.ok;
    if (answer.ok) {
      latest = new DOMParser().parseFromString(await answer.text(), 'text/html');
      put();
    }
  } catch {
    isStale = true;
  }
  busy = false;
  tell();
  if (isStale) renew(AFTER_FAILURE);
  if (again) {
    again = false;
    renew();
  }
}

/** Shows what was fetched last, but for the parts that somebody is busy with. */
function put() {
  // A press and its release are meant for the same thing: nothing moves in between.
  if (!latest || performance.now() < pressedUntil) return;
  isWaiting = false;
  held.clear();
  for (const part of document.querySelectorAll('[data-live][id]')) {
    const fresh = latest.getElementById(part.id);
    if (!fresh || isTypedInto(part)) continue;
    if (part === arrivals?.part) {
      if (!arrivals.keep(fresh)) morphPart(part, fresh);
    } else if (isHeld(part)) {
      held.add(part);
      if (morphPart(part, fresh, morphStill)) isWaiting = true;
    } else {
      morphPart(part, fresh);
    }
  }
  tell();
}

function morphPart(part, fresh, how = morph) {
  if (part.isEqualNode(fresh)) return false;
  const focused = document.activeElement;
  const rest = how(part, fresh);
  // An element that was moved to another place has lost it.
  if (focused !== document.activeElement && part.contains(focused)) focused.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent('fresh', { detail: part }));
  return rest;
}

function isTypedInto(part) {
  const field = document.activeElement;
  return part.contains(field) && field.matches('input, textarea, select');
}

const bar = document.querySelector('[data-arrivals]');
const arrivals = bar && growing(bar, () => { put(); tell(); });
watchHands(put);

addEventListener('pointerdown', () => { pressedUntil = performance.now() + LONGEST_PRESS; }, true);
for (const name of ['pointerup', 'pointercancel', 'blur']) {
  addEventListener(name, () => {
    pressedUntil = 0;
    // The click comes behind the release, and is meant for what stands there now.
    setTimeout(put);
  });
}

function stop() {
  clearTimeout(retry);
  retry = undefined;
  source?.close();
  source = undefined;
}

function resume() {
  if (source || retry) return;
  again = false;
  listen();
  renew();
}

/** A form is sent, and the page goes with it: what is asked for now may be refused, as behind a sign-out. */
function leave() {
  stop();
  clearTimeout(due);
  due = undefined;
  request?.abort();
  // The answer may be a download, and then the page stays.
  retry = setTimeout(listen, AFTER_FAILURE);
}

// Last of all listeners: one that sends the form itself stays on the page.
addEventListener('submit', (event) => event.defaultPrevented || leave());

// A browser has six connections for all tabs of a site: those that nobody sees give theirs back.
document.addEventListener('visibilitychange', () => (document.hidden ? stop() : resume()));
addEventListener('pagehide', stop);
addEventListener('pageshow', (event) => event.persisted && resume());

if (topics.size > 0) listen();
