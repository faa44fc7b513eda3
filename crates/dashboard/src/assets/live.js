// Keeps a page up to date: hears that something has changed, fetches the page again, and puts the parts
// with `data-live` in place. The page is whole without this.

const topics = new Set((document.body.dataset.topics ?? '').split(' ').filter(Boolean));
const pulse = document.getElementById('pulse');
const BETWEEN = 700;

let source;
let retry;
let pause = 1000;
let due;
let busy = false;
let again = false;

function show(state, words) {
  if (!pulse || pulse.dataset.state === state) return;
  pulse.dataset.state = state;
  pulse.textContent = words;
}

function listen() {
  retry = undefined;
  source = new EventSource('/ui/live');
  source.onopen = () => {
    // What has changed between the making of the page and this moment was told to nobody.
    renew();
    pause = 1000;
    show('live', 'Live');
  };
  for (const topic of topics) source.addEventListener(topic, renew);
  source.addEventListener('bye', () => {
    source.close();
    location.reload();
  });
  source.onerror = () => {
    source.close();
    show('lost', 'Reconnecting');
    // It may be the session that is over, and not the connection: whoever asks for the page is told.
    renew();
    retry = setTimeout(listen, pause);
    pause = Math.min(pause * 2, 30000);
  };
}

function renew() {
  if (due) return;
  due = setTimeout(fetchAgain, BETWEEN);
}

async function fetchAgain() {
  due = undefined;
  if (busy || document.hidden) {
    again = true;
    return;
  }
  busy = true;
  try {
    const answer = await fetch(location.href, {
      headers: { 'x-trunkline-live': '1' },
      credentials: 'same-origin',
    });
    if (answer.status === 401) {
      location.reload();
    } else if (answer.ok) {
      put(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    }
  } catch {
    // The stream has noticed, too, and says so.
  }
  busy = false;
  if (again) {
    again = false;
    renew();
  }
}

function put(fresh) {
  for (const part of document.querySelectorAll('[data-live][id]')) {
    const next = fresh.getElementById(part.id);
    if (!next || next.isEqualNode(part)) continue;
    if (part.contains(document.activeElement) && document.activeElement !== document.body) {
      // Somebody is at it: they are not disturbed, and it comes with the next change.
      if (document.activeElement.matches('input, textarea, select')) continue;
    }
    const focused = place(document.activeElement, part);
    const open = [...part.querySelectorAll('details')].map((details) => details.open);
    const there = document.importNode(next, true);
    [...there.querySelectorAll('details')].forEach((details, at) => {
      if (open[at] !== undefined) details.open = open[at];
    });
    part.replaceWith(there);
    if (focused !== undefined) reach(there)[focused]?.focus();
    document.dispatchEvent(new CustomEvent('fresh', { detail: there }));
  }
}

const reach = (part) => [...part.querySelectorAll('a, button, summary')];

function place(element, part) {
  const at = reach(part).indexOf(element);
  return at < 0 ? undefined : at;
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

// A browser has six connections for all tabs of a site: those that nobody sees give theirs back.
document.addEventListener('visibilitychange', () => (document.hidden ? stop() : resume()));
addEventListener('pagehide', stop);
addEventListener('pageshow', (event) => event.persisted && resume());

if (topics.size > 0) listen();
