// Small helps on every page: how long ago something was stays true, and what is to be copied can be.

const WORDS = [
  [60, 1, 's'],
  [3600, 60, 'min'],
  [172800, 3600, 'h'],
  [Infinity, 86400, 'days'],
];

function ago(seconds) {
  if (seconds < 5) return 'just now';
  const [, unit, word] = WORDS.find(([most]) => seconds < most);
  return `${Math.floor(seconds / unit)} ${word} ago`;
}

function tick() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const then = Date.parse(time.dateTime);
    const words = ago(Math.max(0, (Date.now() - then) / 1000));
    if (time.textContent !== words) time.textContent = words;
  }
}

/** Buttons with `data-copy="#id"` copy the text of that element. */
function copying(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll('button[data-copy]')) button.hidden = false;
}

async function copy(button) {
  const from = document.querySelector(button.dataset.copy);
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(from.value ?? from.textContent);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not allowed';
  }
  setTimeout(() => { button.textContent = words; }, 1500);
}

/** A form with choices shows only the fields of the one that is chosen: `data-for="kind:STDIO"`. */
function choosing(root) {
  const parts = [...root.querySelectorAll('[data-for]')];
  const names = new Set(parts.map((part) => part.dataset.for.split(':')[0]));
  for (const name of names) {
    const inputs = [...document.querySelectorAll(`[name="${name}"]`)];
    const apply = () => {
      // Where there is nothing to choose any more, what was chosen is a hidden field.
      const input = inputs.find((it) => it.checked || it.tagName === 'SELECT' || it.type === 'hidden');
      for (const part of parts) {
        const [of, values] = part.dataset.for.split(':');
        if (of === name) part.hidden = !values.split('|').includes(input?.value);
      }
    };
    inputs.forEach((input) => input.addEventListener('change', apply));
    apply();
  }
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-copy]');
  if (button) copy(button);
});
copying(document);
choosing(document);
document.addEventListener('fresh', (event) => {
  copying(event.detail);
  tick();
});
setInterval(tick, 5000);
