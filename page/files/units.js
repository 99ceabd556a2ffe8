'use strict';
// The lists of units and machines. Only the rows that can be seen are in the page, so
// that a thousand are no more than thirty.
(() => {
  const row = 28;

  // list keeps a list of rows in a panel.
  U.list = (panel, heads, widths, items, cells, keyOf, name) => {
    const body = U.h('tbody', {}), table = U.h('table', {'aria-label': name}, U.h('colgroup', {}, widths.map(w => U.h('col', {style: `width:${w}`}))),
      U.h('thead', {}, U.h('tr', {}, heads.map(h => U.h('th', {scope: 'col'}, h)))), body);
    const rows = U.h('div', {class: 'rows'}, table);
    const none = U.h('p', {class: 'hint', hidden: true}, 'There are none.');
    panel.replaceChildren(rows, none);
    const draw = () => {
      if (panel.hidden) return;
      const all = items(), first = Math.max(0, Math.floor(panel.scrollTop / row) - 4), many = Math.ceil(panel.clientHeight / row) + 9;
      rows.style.height = (all.length + 1) * row + 'px';
      table.style.top = first * row + 'px';
      table.setAttribute('aria-rowcount', all.length + 1);
      none.hidden = all.length > 0;
      rows.hidden = !none.hidden;
      const focused = document.activeElement?.closest?.('tr')?.dataset.key;
      body.replaceChildren(...all.slice(first, first + many).map((item, i) =>
        U.h('tr', {'data-key': keyOf(item), class: U.chosen === keyOf(item) ? 'chosen' : '', 'aria-rowindex': first + i + 2}, cells(item).map(c => U.h('td', {}, c)))));
      if (focused) body.querySelector(`tr[data-key="${CSS.escape(focused)}"] button`)?.focus({preventScroll: true});
    };
    const soon = U.later(draw);
    panel.addEventListener('scroll', soon, {passive: true});
    panel.addEventListener('keydown', e => {
      const step = {ArrowDown: 1, ArrowUp: -1}[e.key], at = document.activeElement?.closest?.('tr');
      if (!step || !at) return;
      e.preventDefault();
      const to = step > 0 ? at.nextElementSibling : at.previousElementSibling;
      to?.querySelector('button')?.focus();
      to?.scrollIntoView({block: 'nearest'});
    });
    new ResizeObserver(soon).observe(panel);
    U.redraw.push(soon);
    return soon;
  };

  // shownStatus is the word by which a unit is counted and drawn.
  U.shownStatus = u => u.workload.status === 'error' || u.agent.status === 'failed' || u.agent.status === 'lost' ? 'error' : u.workload.status;

  // units are those that the filter lets through: each word of it has to be in the
  // unit's name or its statuses.
  U.units = () => {
    const words = document.getElementById('search').value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = U.all('unit').sort(U.by(u => u.name));
    if (!words.length) return all;
    return all.filter(u => {
      const text = [u.name, u.workload.status, u.workload.message, u.agent.status, u.agent.message, 'machine-' + u.machine, u.leader ? 'leader' : ''].join(' ').toLowerCase();
      return words.every(w => text.includes(w));
    });
  };

  const units = U.list(document.getElementById('units'), ['Unit', 'Workload', 'Agent', 'Machine', 'Message'], ['22%', '14%', '22%', '10%', '32%'], U.units, u => [
    [U.link('unit/' + u.name, u.name), u.leader ? U.h('span', {title: 'leader'}, ' *') : ''],
    U.status(U.shownStatus(u), u.workload.status),
    U.status(u.agent.status, u.agent.status + (u.agent.message ? ': ' + u.agent.message : '')),
    u.machine ? U.link('machine/' + u.machine, u.machine) : '',
    u.workload.message || '',
  ], u => 'unit/' + u.name, 'Units');

  const machines = U.list(document.getElementById('machines'), ['Machine', 'Host', 'Base', 'Agent', 'Units'], ['12%', '24%', '20%', '14%', '30%'], () => U.all('machine').sort(U.by(m => m.id)), m => [
    U.link('machine/' + m.id, m.id), m.hostname || '', m.base || '',
    U.status(m.present ? 'active' : 'lost', m.present ? 'present' : 'not present'),
    U.all('unit').filter(u => u.machine === m.id).map(u => u.name).sort(U.natural).join(', '),
  ], m => 'machine/' + m.id, 'Machines');

  // The counts at the top.
  const summary = document.getElementById('summary');
  const count = U.later(() => {
    const counts = new Map();
    let busy = 0;
    for (const u of U.all('unit')) {
      const word = U.shownStatus(u);
      counts.set(word, (counts.get(word) || 0) + 1);
      if (u.agent.status === 'executing') busy++;
    }
    const order = word => U.words.includes(word) ? U.words.indexOf(word) : U.words.length;
    summary.replaceChildren(...[...counts].sort((a, b) => order(a[0]) - order(b[0])).map(([word, n]) => U.h('li', {}, U.status(word, n + ' ' + word))),
      busy ? U.h('li', {}, U.status('executing', busy + (busy === 1 ? ' runs a hook' : ' run hooks'))) : '');
  });
  U.on(changed => {
    if (changed.has('unit')) { units(); count(); }
    if (changed.has('unit') || changed.has('machine')) machines();
  });
})();
