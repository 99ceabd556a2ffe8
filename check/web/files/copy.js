'use strict';
// Each text to copy gets a button. Screen readers are told once it is copied.
const told = document.createElement('p');
told.className = 'unseen';
told.setAttribute('role', 'status');
document.querySelector('main').append(told);
for (const text of document.querySelectorAll('.block pre')) {
  const button = document.createElement('button'), shown = document.createElement('span'), heard = document.createElement('span');
  button.type = 'button';
  shown.textContent = 'Copy';
  heard.className = 'unseen';
  heard.textContent = ' ' + text.dataset.name;
  button.append(shown, heard);
  button.addEventListener('click', async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch { // a page that came over plain HTTP may not
      getSelection().selectAllChildren(text);
      done = document.execCommand('copy');
    }
    shown.textContent = done ? 'Copied' : 'Selected';
    told.textContent = shown.textContent + heard.textContent;
    setTimeout(() => { shown.textContent = 'Copy'; }, 2000);
  });
  text.before(button);
}
