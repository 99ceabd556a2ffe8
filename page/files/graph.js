'use strict';
// The graph of applications and their relations.
(() => {
  const panel = document.getElementById('graph'), width = 198, height = 78;
  let shown = '';

  const elsewhere = 'another model';

  function model() {
    const nodes = new Map(), edges = [];
    for (const app of U.all('app')) nodes.set(app.name, {key: 'app/' + app.name, app});
    for (const saas of U.all('saas')) nodes.set(saas.name, {key: 'saas/' + saas.name, saas});
    for (const relation of U.all('relation')) {
      if (relation.ends.length === 1) {
        const node = nodes.get(relation.ends[0].application);
        if (node) node.peers = true;
        continue;
      }
      const ends = [...relation.ends].sort((a, b) => (a.role === 'requirer' ? 0 : 1) - (b.role === 'requirer' ? 0 : 1));
      const names = ends.map(e => nodes.has(e.application) ? e.application : elsewhere);
      if (names.includes(elsewhere) && !nodes.has(elsewhere)) nodes.set(elsewhere, {key: '', elsewhere: true});
      edges.push({from: names[0], to: names[1], ends, relation});
    }
    return {nodes, edges};
  }

  function draw() {
    if (panel.hidden) return;
    const {nodes, edges} = model();
    if (!nodes.size) {
      panel.replaceChildren(U.h('p', {class: 'hint'}, 'There is no application yet.'));
      return;
    }
    const names = [...nodes.keys()].sort(U.natural), place = U.layout(names, edges);
    const right = Math.max(...names.map(n => place.get(n).x)) + width + 30, bottom = Math.max(...names.map(n => place.get(n).y)) + height + 30;
    const scale = Math.min(1.25, Math.max(.55, Math.min((panel.clientWidth - 12) / right, (panel.clientHeight - 12) / bottom)));
    const svg = U.s('svg', {class: 'graph', viewBox: `-15 -15 ${right} ${bottom}`, width: right * scale, height: bottom * scale, role: 'group', 'aria-label': 'Applications and relations'});
    const twins = new Map();
    for (const edge of edges) svg.append(edgeOf(edge, place, twins));
    for (const name of names) svg.append(nodeOf(name, nodes.get(name), place.get(name)));
    const focused = document.activeElement?.dataset?.key;
    panel.replaceChildren(svg);
    if (focused && shown) svg.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({preventScroll: true});
    shown = 'yes';
  }

  // pressed makes something of SVG a button.
  function pressed(key, label, kind, ...children) {
    const chosen = U.chosen === key ? ' chosen' : '';
    if (!key) return U.s('g', {class: kind}, ...children);
    return U.s('g', {
      class: kind + chosen, role: 'button', tabindex: '0', 'aria-label': label, 'data-key': key, onclick: () => U.choose(key),
      onkeydown: e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); U.choose(key); } },
    }, ...children);
  }

  const cut = (text, n) => text.length > n ? text.slice(0, n - 1) + '…' : text;

  const mark = (word, x, y, size, extra) => U.s('path', {
    class: 's-' + word + (extra || ''), d: U.shape(word), fill: 'currentColor', 'fill-rule': 'evenodd', transform: `translate(${x} ${y}) scale(${size / 16})`,
  });

  function nodeOf(name, node, at) {
    const box = U.s('rect', {x: at.x, y: at.y, width, height, rx: 8});
    const text = (x, y, kind, value) => U.s('text', {x: at.x + x, y: at.y + y, class: kind}, value);
    if (node.elsewhere) return pressed('', '', 'node saas', box, text(14, 42, 'small', 'an application of another model'));
    if (node.saas) {
      const s = node.saas;
      return pressed(node.key, `${name}, of another model: ${s.status.status}`, 'node saas', box,
        mark(s.status.status, at.x + 12, at.y + 13, 13), text(32, 24, 'name', cut(name, 20)), text(12, 44, 'small', cut(s.url, 30)), text(12, 64, 'small', 'of another model'));
    }
    const app = node.app, units = U.unitsOf(name), parts = [];
    const room = 13;
    units.slice(0, units.length > room ? room - 1 : room).forEach((u, i) => {
      const word = U.shownStatus(u), busy = u.agent.status === 'executing' ? ' busy' : '';
      parts.push(mark(word, at.x + 12 + i * 13.4, at.y + 55, 11, busy));
    });
    if (units.length > room) parts.push(text(12 + (room - 1) * 13.4, 65, 'small', '+' + (units.length - room + 1)));
    const count = units.length === 1 ? '1 unit' : units.length + ' units';
    const busy = units.filter(u => u.agent.status === 'executing').length;
    const label = `${name}: ${app.status.status}${app.status.message ? ', ' + app.status.message : ''}; ${count}${busy ? ', ' + busy + ' running a hook' : ''}`;
    return pressed(node.key, label, 'node' + (app.life === 'alive' ? '' : ' dying'), box,
      mark(app.status.status, at.x + 12, at.y + 13, 13), text(32, 24, 'name', cut(name, 20)),
      text(12, 43, 'small', cut(`${app.charm} ${app.revision}` + (app.version ? ` · ${app.version}` : '') + (node.peers ? ' · peers' : '') + (app.subordinate ? ' · subordinate' : '') +
        (app.containers?.length ? ' · ' + app.containers.length + (app.containers.length === 1 ? ' container' : ' containers') : ''), 32)),
      ...parts, U.s('title', {}, label));
  }

  function edgeOf(edge, place, twins) {
    const a = place.get(edge.from), b = place.get(edge.to), pair = [edge.from, edge.to].sort().join(' ');
    const nth = twins.get(pair) || 0;
    twins.set(pair, nth + 1);
    const shift = (nth % 2 ? -1 : 1) * Math.ceil(nth / 2) * 22, ay = a.y + height / 2 + shift, by = b.y + height / 2 + shift;
    let d, x, y;
    if (a.x < b.x) {
      const from = a.x + width, to = b.x, bend = Math.max(30, (to - from) / 2);
      d = `M${from} ${ay}C${from + bend} ${ay} ${to - bend} ${by} ${to} ${by}`;
      x = (from + to) / 2; y = (ay + by) / 2;
    } else if (a.x > b.x) {
      const from = a.x, to = b.x + width, bend = Math.max(30, (from - to) / 2);
      d = `M${from} ${ay}C${from - bend} ${ay} ${to + bend} ${by} ${to} ${by}`;
      x = (from + to) / 2; y = (ay + by) / 2;
    } else {
      const side = a.x + width;
      d = `M${side} ${ay}C${side + 50 + shift} ${ay} ${side + 50 + shift} ${by} ${side} ${by}`;
      x = side + 38 + shift; y = (ay + by) / 2;
    }
    const r = edge.relation, label = edge.ends.map(e => `${e.application}:${e.name}`).join(' and ') + `, interface ${r.interface}` + (r.suspended ? ', suspended' : '') + (r.life === 'alive' ? '' : ', ' + r.life);
    const kind = 'edge' + (r.container ? ' container' : '') + (r.across ? ' across' : '') + (r.suspended || r.life !== 'alive' ? ' suspended' : '');
    return pressed('relation/' + r.id, 'Relation of ' + label, kind, U.s('path', {class: 'wide', d}), U.s('path', {d}), U.s('text', {x, y: y - 5}, cut(r.interface, 18)), U.s('title', {}, label));
  }

  const soon = U.later(draw);
  U.on(changed => { if (['app', 'unit', 'relation', 'saas'].some(kind => changed.has(kind))) soon(); });
  U.redraw.push(soon);
  new ResizeObserver(soon).observe(panel);
})();
