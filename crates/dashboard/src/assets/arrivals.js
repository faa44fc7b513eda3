// A list that grows at its top (`data-arrivals="ID"` on the bar above it, with two buttons): while somebody
// points at it, goes through it with the keyboard, has selected some of it or has paused it, nothing moves;
// new rows are counted and wait until they are asked for.

function growing(bar, changed) {
  const part = document.getElementById(bar.dataset.arrivals);
  const [stop, show] = bar.querySelectorAll('button');
  const list = { part, isPaused: false, keep };
  let waiting;

  /** Do the rows of the fresh list wait? */
  function keep(fresh) {
    const known = new Set([...part.querySelectorAll('[data-key]')].map(keyOf));
    const rows = [...fresh.querySelectorAll('[data-key]')].map(keyOf);
    const count = rows.filter((key) => !known.has(key)).length;
    const waits = count > 0 && known.size > 0 && (list.isPaused || isHeld(part));
    waiting = waits ? fresh : undefined;
    if (waits && !list.isPaused) held.add(part);
    offer(waits ? count : 0, count === rows.length);
    return waits;
  }

  function offer(count, isAll) {
    // The focus must not fall out of the page with its button.
    if (count === 0 && document.activeElement === show) stop.focus();
    show.hidden = count === 0;
    show.textContent = `Show ${count}${isAll ? ' or more' : ''} new`;
  }

  stop.addEventListener('click', () => {
    list.isPaused = !list.isPaused;
    stop.setAttribute('aria-pressed', list.isPaused);
    stop.textContent = list.isPaused ? 'Resume' : 'Pause';
    changed();
  });
  show.addEventListener('click', () => {
    if (waiting) morphPart(part, waiting);
    waiting = undefined;
    offer(0);
  });
  bar.hidden = false;
  return list;
}

