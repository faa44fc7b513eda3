// The commands beside the form of a tool follow what is typed. How a call is spelt is known in one place, which
// is asked: the server.

const form = document.getElementById('try-it');
const AFTER = 300;
let due;
let asked = 0;

async function follow() {
  const fields = new URLSearchParams(new FormData(form));
  fields.set('do', 'commands');
  const turn = ++asked;
  try {
    const answer = await fetch(form.action, { method: 'POST', body: fields, credentials: 'same-origin' });
    if (!answer.ok || turn !== asked) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const command of document.querySelectorAll('#elsewhere pre')) {
      command.textContent = fresh.getElementById(command.id)?.textContent ?? command.textContent;
    }
  } catch {
    // They stay as they are until something else is typed.
  }
}

form?.addEventListener('input', () => {
  clearTimeout(due);
  due = setTimeout(follow, AFTER);
});
