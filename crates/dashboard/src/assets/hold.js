// A list that somebody points at, works in with the keyboard or has selected some of stands still: what a
// click or a key is meant for must not become something else in the moment before it.

/** What the mouse is over. A finger is nowhere when it does not press. */
let pointed = null;
/** The parts that were made alike only as far as nothing moves. */
const held = new Set();

/** Does a part of the page stand still? */
function isHeld(part) {
  return isOverPressable(part) || (hasRows(part) && isLookedAt(part));
}

function isLookedAt(part) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.containsNode(part, true);
  return part.contains(pointed) || isSelected || part.contains(document.activeElement);
}

/** A part that grows moves what is below it. */
function isOverPressable(part) {
  if (!pointed?.isConnected || part.contains(pointed)) return false;
  const isBelow = part.compareDocumentPosition(pointed) & Node.DOCUMENT_POSITION_FOLLOWING;
  return Boolean(isBelow && pointed.closest('a, button, input, select, textarea, summary, [data-key]'));
}

const rowsOf = (part) => [...part.querySelectorAll('[data-key]')];
const hasRows = (part) => part.querySelector('[data-key]') !== null;

/** Makes a part like its fresh copy where nothing moves by it: words change, rows that are gone are greyed.
 * Returns whether rows have to come or go. */
function morphStill(part, fresh) {
  const known = new Set(rowsOf(part).map(keyOf));
  const wanted = new Set(rowsOf(fresh).map(keyOf));
  morphWords(part, fresh);
  for (const row of rowsOf(part)) {
    const isGone = !wanted.has(keyOf(row));
    row.classList.toggle('gone', isGone);
    // Who has the focus in it keeps it.
    row.inert = isGone && !row.contains(document.activeElement);
  }
  return known.size !== wanted.size || [...wanted].some((key) => !known.has(key));
}

function morphWords(old, fresh) {
  // What can be pressed stays what it was.
  if (old.isEqualNode(fresh) || old.matches?.('a, button, form')) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = fresh.data;
    return;
  }
  morphAttributes(old, fresh);
  if (old.matches('time[datetime]')) return;
  const [known, next] = [byName(old), byName(fresh)];
  for (const [name, nodes] of known) {
    const others = next.get(name) ?? [];
    // Of another number, who knows which is which?
    if (nodes.length === others.length) nodes.forEach((node, at) => morphWords(node, others[at]));
  }
}

function byName(parent) {
  const nodes = new Map();
  for (const child of parent.childNodes) {
    const name = nameOf(child);
    nodes.set(name, [...(nodes.get(name) ?? []), child]);
  }
  return nodes;
}

/** Calls `release` as soon as a part that was held is not any more. */
function watchHands(release) {
  const changed = () => {
    if ([...held].some((part) => !isHeld(part))) release();
  };
  const point = (at) => {
    pointed = at;
    changed();
  };
  // Not `:hover`, which a finger leaves behind where it has touched last.
  addEventListener('pointerover', (event) => point(event.pointerType === 'mouse' ? event.target : null));
  document.documentElement.addEventListener('pointerleave', () => point(null));
  // The focus is nowhere until it has arrived at the next.
  addEventListener('focusout', () => setTimeout(changed));
  document.addEventListener('selectionchange', changed);
}

