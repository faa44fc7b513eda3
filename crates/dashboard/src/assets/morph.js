// Makes a part of the page like a fresh copy of it, and keeps every element that stands for the same thing:
// the one with the same `id` or `data-key`, or else the next of its kind. So the focus, a selection, a press
// that has begun and what is typed into a field survive.

const keyOf = (node) => node.getAttribute?.('id') || node.dataset?.key || '';
const nameOf = (node) => node.nodeName + (keyOf(node) ? `#${keyOf(node)}` : '');

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = fresh.data;
    return;
  }
  morphAttributes(old, fresh);
  // `page.js` keeps the words of a moment true.
  if (!old.matches('time[datetime]')) morphChildren(old, fresh);
}

/** Whether somebody has opened it is theirs, and so is what they have typed: attributes do not change that. */
function morphAttributes(old, fresh) {
  const isTheirs = (name) => name === 'open' && old.tagName === 'DETAILS';
  for (const { name, value } of fresh.attributes) {
    if (!isTheirs(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!isTheirs(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
}

function morphChildren(parent, fresh) {
  const known = new Map();
  for (const child of parent.childNodes) {
    const name = nameOf(child);
    if (!known.has(name)) known.set(name, []);
    known.get(name).push(child);
  }
  const pairs = [...fresh.childNodes].map((next) => [known.get(nameOf(next))?.shift(), next]);
  // Those that are gone go first: then the others are in their places, and none has to be moved.
  for (const left of known.values()) left.forEach((child) => child.remove());
  let place = parent.firstChild;
  for (const [kept, next] of pairs) {
    if (kept && kept === place) {
      place = place.nextSibling;
    } else {
      parent.insertBefore(kept ?? document.importNode(next, true), place);
    }
    if (kept) morph(kept, next);
  }
}

