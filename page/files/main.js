'use strict';
// The frame: tabs, the theme, the filter, and the connection.
(() => {
  for (const tabs of document.querySelectorAll('[role="tablist"]')) {
    const all = [...tabs.querySelectorAll('[role="tab"]')];
    const open = tab => {
      for (const t of all) {
        const on = t === tab;
        t.setAttribute('aria-selected', on);
        t.tabIndex = on ? 0 : -1;
        document.getElementById(t.getAttribute('aria-controls')).hidden = !on;
      }
      for (const f of U.redraw) f();
    };
    for (const [i, tab] of all.entries()) {
      tab.addEventListener('click', () => open(tab));
      tab.addEventListener('keydown', e => {
        const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
        if (!step) return;
        const next = all[(i + step + all.length) % all.length];
        next.focus();
        open(next);
      });
    }
  }

  const theme = document.getElementById('theme'), dark = matchMedia('(prefers-color-scheme: dark)');
  const kept = () => { try { return localStorage.getItem('theme'); } catch { return null; } };
  const set = name => {
    document.documentElement.dataset.theme = name;
    theme.textContent = name === 'dark' ? 'Light' : 'Dark';
    theme.setAttribute('aria-label', `Use the ${name === 'dark' ? 'light' : 'dark'} theme`);
    for (const f of U.redraw) f();
  };
  set(kept() || (dark.matches ? 'dark' : 'light'));
  dark.addEventListener('change', () => { if (!kept()) set(dark.matches ? 'dark' : 'light'); });
  theme.addEventListener('click', () => {
    const name = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    try { localStorage.setItem('theme', name); } catch { /* it lasts as long as the page */ }
    set(name);
  });

  const search = document.getElementById('search');
  search.addEventListener('input', () => { for (const f of U.redraw) f(); });
  addEventListener('keydown', e => {
    if (e.key === '/' && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) { e.preventDefault(); search.focus(); }
    if (e.key === 'Escape' && document.activeElement === search) { search.value = ''; for (const f of U.redraw) f(); }
  });

  const connection = document.getElementById('connection');
  U.on(() => {
    const model = U.parts.get('model'), trouble = U.parts.get('trouble');
    connection.title = trouble || '';
    if (trouble) { connection.textContent = 'the model can’t be read'; connection.classList.add('lost'); } else if (connection.textContent === 'the model can’t be read') { connection.textContent = 'live'; connection.classList.remove('lost'); }
    if (!model) return;
    document.getElementById('model').textContent = model.name;
    document.title = model.name + ' – unitd';
  });
  U.connect((text, well) => {
    connection.textContent = text;
    connection.classList.toggle('lost', !well);
  });
})();
