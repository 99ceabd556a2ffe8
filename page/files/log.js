'use strict';
// The log as it comes, and the differences between two moments of the model.
(() => {
  const panel = document.getElementById('log'), list = U.h('ol', {class: 'lines', 'aria-label': 'Log'});
  const level = U.h('select', {id: 'level', onchange: () => soon()}, U.levels.map(l => U.h('option', {selected: l === 'DEBUG'}, l)));
  panel.append(U.h('div', {class: 'tools'}, U.h('label', {}, 'At least ', level), U.h('span', {class: 'hint'}, 'The newest 1,000 lines; the filter of units applies.')), list);
  const severity = l => U.levels.indexOf(l);

  // line shows an entry of the log.
  U.line = (e, bare) => U.h('li', {class: e.level}, `${U.clock(Date.parse(e.time))} ${e.level} ${bare ? '' : e.entity + ' '}${e.module} ${e.message}`);

  const soon = U.later(() => {
    if (panel.hidden) return;
    const filtered = document.getElementById('search').value.trim() !== '', units = new Set(U.units().map(u => 'unit-' + u.name.replace('/', '-')));
    const end = panel.scrollHeight - panel.scrollTop - panel.clientHeight < 40;
    const shown = U.lines.filter(e => severity(e.level) >= severity(level.value) && (!filtered || units.has(e.entity)));
    list.replaceChildren(...shown.map(e => U.line(e)));
    if (end) panel.scrollTop = panel.scrollHeight;
  });
  U.on(changed => { if (changed.has('line')) soon(); });
  U.redraw.push(soon);
})();

(() => {
  const panel = document.getElementById('changes'), list = U.h('ol', {class: 'lines', 'aria-label': 'Changes'});
  const from = U.h('select', {}), to = U.h('select', {}, U.h('option', {value: ''}, 'now'));
  const say = U.h('p', {class: 'hint', role: 'status'}, 'Mark a moment, and see later what has changed since: databags, statuses, ports, configuration, the charm’s state.');
  const mark = async () => {
    try {
      const {id} = await U.post('/mark', {});
      const name = `mark ${id}, ${U.clock(Date.now())}`;
      from.prepend(U.h('option', {value: id, selected: true}, name));
      to.append(U.h('option', {value: id}, name));
      say.textContent = name + ' was made.';
      list.replaceChildren();
      buttons();
    } catch (e) { say.textContent = e.message; }
  };
  const compare = async () => {
    try {
      const all = await U.get('/changes?from=' + encodeURIComponent(from.value) + '&to=' + encodeURIComponent(to.value));
      say.textContent = all.length === 0 ? 'Nothing has changed.' : all.length === 1 ? 'One thing has changed.' : all.length + ' things have changed.';
      list.replaceChildren(...all.map(c => U.h('li', {class: {'+': 'plus', '-': 'minus', '~': 'tilde'}[c.sign]}, c.line)));
    } catch (e) { say.textContent = e.message; }
  };
  const compareButton = U.h('button', {type: 'button', onclick: compare}, 'Compare');
  const buttons = () => { compareButton.disabled = !from.options.length; };
  buttons();
  if (document.getElementById('data')) {
    panel.append(U.h('p', {class: 'hint'}, 'Moments can be compared on the live page only.'));
    return;
  }
  panel.append(U.h('div', {class: 'tools'}, U.h('button', {type: 'button', onclick: mark}, 'Mark this moment'), U.h('label', {}, 'From ', from), U.h('label', {}, 'to ', to), compareButton), say, list);
})();
