'use strict';
// What is shown of the part that is chosen.
(() => {
  const side = document.getElementById('side');
  const rows = pairs => U.h('dl', {}, pairs.filter(p => p && p[1] !== undefined && p[1] !== '' && p[1] !== null).map(([name, value]) => [U.h('dt', {}, name), U.h('dd', {}, value)]));
  const section = (title, ...content) => [U.h('h3', {}, title), ...content];
  const pairsTable = (name, pairs) => pairs && pairs.length ? U.h('table', {class: 'pairs', 'aria-label': name}, U.h('tbody', {}, pairs.map(p => U.h('tr', {}, U.h('td', {}, p.key), U.h('td', {}, p.value))))) : U.h('p', {class: 'hint'}, 'empty');
  const statusRow = (s, shown) => [U.status(shown || s.status, s.status), s.since ? ` since ${U.when(s.since)}` : ''];
  const list = (items, f) => U.h('ul', {}, items.map(i => U.h('li', {}, f(i))));
  const crumbs = (...links) => U.h('p', {class: 'crumbs'}, links.map((l, i) => [i ? ' › ' : '', l]));

  function application(a) {
    const units = U.unitsOf(a.name), relations = U.all('relation').filter(r => r.ends.some(e => e.application === a.name));
    return [
      U.h('h2', {}, a.name),
      U.h('p', {class: 'message'}, statusRow(a.status), a.status.message ? '\n' + a.status.message : ''),
      rows([['Charm', `${a.charm}, revision ${a.revision}`], ['Base', a.base], ['Version', a.version], ['Life', a.life === 'alive' ? '' : a.life], ['Exposed', a.exposed ? 'yes' : ''],
        ['Scale', a.scale], ['Containers', a.containers?.join(', ')], ['Offers', a.offered?.join(', ')]]),
      U.actions.application(a, units),
      section(units.length === 1 ? '1 unit' : units.length + ' units', list(units.slice(0, 100), u => [U.link('unit/' + u.name, u.name), u.leader ? ' * ' : ' ', U.status(U.shownStatus(u), u.workload.status), u.workload.message ? ' ' + u.workload.message : '']),
        units.length > 100 ? U.h('p', {class: 'hint'}, `and ${units.length - 100} more: see the list of units`) : ''),
      relations.length ? section('Relations', list(relations, r => U.link('relation/' + r.id, r.ends.map(e => `${e.application}:${e.name}`).join(' — ')))) : '',
      a.endpoints ? section('Endpoints', U.h('table', {'aria-label': 'Endpoints'}, U.h('thead', {}, U.h('tr', {}, ['Name', 'Role', 'Interface'].map(t => U.h('th', {scope: 'col'}, t)))),
        U.h('tbody', {}, a.endpoints.map(e => U.h('tr', {}, U.h('td', {}, e.name), U.h('td', {}, e.role), U.h('td', {}, e.interface)))))) : '',
    ];
  }

  function relation(r) {
    return [
      U.h('h2', {}, r.ends.map(e => `${e.application}:${e.name}`).join(' — ')),
      rows([['Interface', r.interface], ['Relation', r.id], ['Life', r.life === 'alive' ? '' : r.life], ['Suspended', r.suspended ? 'yes' : ''], ['Scope', r.container ? 'container' : 'global'], ['Other model', r.across ? 'yes' : '']]),
      section('Ends', list(r.ends, e => [U.link((U.parts.has('app/' + e.application) ? 'app/' : 'saas/') + e.application, e.application), `:${e.name} (${e.role})`])),
      section('Databags', U.h('p', {class: 'hint'}, 'as a unit sees them:'), list(r.ends.flatMap(e => U.unitsOf(e.application)).slice(0, 40), u => U.link('unit/' + u.name, u.name))),
    ];
  }

  function saas(s) {
    return [U.h('h2', {}, s.name), U.h('p', {class: 'message'}, statusRow(s.status)), rows([['Offer', s.url], ['Life', s.life === 'alive' ? '' : s.life]])];
  }

  function machine(m) {
    const units = U.all('unit').filter(u => u.machine === m.id).sort(U.by(u => u.name));
    return [U.h('h2', {}, 'Machine ' + m.id), rows([['Host', m.hostname], ['Base', m.base], ['Agent', m.present ? 'present' : 'not present'], ['Life', m.life === 'alive' ? '' : m.life]]),
      section('Units', list(units, u => U.link('unit/' + u.name, u.name)))];
  }

  function unit(u) {
    const own = (U.runs.get(u.name) || []).slice(-60).reverse();
    if (asked.unit !== u.name) asked = {unit: u.name, more: U.h('div', {}, U.h('p', {class: 'hint'}, 'loading')), busy: false, again: false, at: 0};
    const more = asked.more;
    fill(asked);
    return [
      crumbs(U.link('app/' + u.application, u.application)),
      U.h('h2', {}, u.name, u.leader ? ' (leader)' : ''),
      U.h('p', {class: 'message'}, statusRow(u.workload, U.shownStatus(u)), u.workload.message ? '\n' + u.workload.message : ''),
      rows([['Agent', [U.status(u.agent.status), u.agent.message ? ' ' + u.agent.message : '']], ['Machine', u.machine && U.link('machine/' + u.machine, u.machine)], ['Principal', u.principal && U.link('unit/' + u.principal, u.principal)],
        ['Address', u.address], ['Ports', u.ports?.join(', ')], ['Version', u.version], ['Charm', u.revision], ['Life', u.life === 'alive' ? '' : u.life]]),
      u.failed && U.findRun(u.name, u.failed) ? U.h('p', {}, U.link(U.findRun(u.name, u.failed), 'the run that has failed')) : '',
      U.actions.unit(u),
      u.containers ? section('Containers', list(u.containers, c => [U.status(c.state === 'running' ? 'active' : 'waiting', c.name), ` ${c.state}`, c.fault ? ': ' + c.fault : ''])) : '',
      more,
      section('Hook runs', own.length ? U.h('table', {'aria-label': 'Hook runs, the newest first'}, U.h('tbody', {}, own.map(r => U.h('tr', {},
        U.h('td', {}, U.link(r.key, r.hook), r.retry ? ' again' : ''), U.h('td', {}, U.status(r.outcome === 'committed' ? 'active' : r.outcome === 'failed' || r.outcome === 'interrupted' ? 'error' : 'waiting', r.outcome)),
        U.h('td', {class: 'number'}, U.took(r.took)), U.h('td', {class: 'number'}, r.started ? U.clock(r.started) : ''))))) : U.h('p', {class: 'hint'}, 'none yet')),
    ];
  }

  // fill shows what has to be asked for, once it is there; what was there stays until then. It
  // asks for one thing at a time, and twice a second at most.
  let asked = {unit: ''};
  async function fill(of) {
    if (of.busy) { of.again = true; return; }
    of.busy = true;
    for (;;) {
      of.again = false;
      await new Promise(done => setTimeout(done, Math.max(0, of.at + 500 - Date.now())));
      if (asked !== of || U.chosen !== 'unit/' + of.unit) break;
      of.at = Date.now();
      await showDetail(of);
      if (!of.again) break;
    }
    of.busy = false;
  }

  async function showDetail({unit: name, more: into}) {
    let d;
    try { d = await U.detail(name); } catch (e) { into.replaceChildren(U.h('p', {class: 'hint'}, e.message)); return; }
    const value = o => o.value === null || o.value === undefined ? '' : String(o.value);
    into.replaceChildren(...[
      d.why ? U.h('p', {class: 'why'}, d.why) : '',
      ...(d.relations || []).map(r => section(`${r.endpoint} — ${r.other}` + (r['in-scope'] ? '' : ' (not entered)'), r.bags.filter(b => b.pairs || b.of === name).map(b => [U.h('p', {class: 'hint'}, b.of), pairsTable(`Databag of ${b.of}`, b.pairs)]))).flat(),
      ...(d.options ? section('Configuration', U.h('table', {class: 'pairs', 'aria-label': 'Configuration'}, U.h('tbody', {}, d.options.map(o => U.h('tr', {title: o.description}, U.h('td', {}, o.name), U.h('td', {}, value(o)), U.h('td', {}, o.set ? 'set' : 'default')))))) : []),
      ...(d.secrets ? section('Secrets', list(d.secrets, s => `${s.label || s.id}: revision ${s.revision}, of ${s.owner}` + (s.granted ? `, granted to ${s.granted.join(', ')}` : '') + (s.rotate ? `, rotates ${s.rotate}` : '') + (s.expires ? `, expires ${U.when(s.expires)}` : '') + (s.description ? ` (${s.description})` : ''))) : []),
      ...(d.storage ? section('Storage', list(d.storage, s => `${s.id}: ${s.status}` + (s.location ? ` at ${s.location}` : ''))) : []),
      ...(d.deferred ? section('Deferred events', list(d.deferred, e => `${e.event} (${e.observer})`)) : []),
      ...(d.state ? section('State of the charm', pairsTable('State of the charm', d.state)) : []),
    ].flat(Infinity).filter(Boolean));
    U.actions.options?.(name.split('/')[0], d);
  }

  function run(r) {
    const cause = U.cause(r), effects = U.effects(r), whole = U.h('div', {});
    tell(r, whole);
    const log = U.h('ol', {class: 'lines', 'aria-label': 'What it has logged'});
    logOf(r, log);
    const bad = r.outcome === 'failed' || r.outcome === 'interrupted';
    return [
      crumbs(U.link('app/' + r.unit.split('/')[0], r.unit.split('/')[0]), U.link('unit/' + r.unit, r.unit)),
      U.h('h2', {}, r.hook),
      U.h('p', {class: 'message'}, U.status(bad ? 'error' : r.outcome === 'committed' ? 'active' : 'waiting', r.outcome), r.exit ? ` with exit code ${r.exit}` : ''), whole,
      rows([['Run', r.run], ['Cause', r.cause], ['Relation', r.relation], ['About', r.remote && (U.parts.has('unit/' + r.remote) ? U.link('unit/' + r.remote, r.remote) : r.remote)], ['Began', r.unknown ? 'not known' : U.when(r.started)], ['Took', U.took(r.took)],
        ['Wrote', r.wrote], ['', r.retry ? 'run again, as the run before failed' : ''], ['', r.missing ? 'the charm has no such hook' : ''], ['', r.debugged ? 'a person has run it' : '']]),
      cause ? section('Follows from', U.h('p', {}, U.link(cause.key, `${cause.unit} ${cause.hook}`))) : '',
      effects.length ? section('What follows from it', list(effects, e => U.link(e.key, `${e.unit} ${e.hook}`))) : '',
      section('Log', log),
    ];
  }

  // tell shows what isn't in the part of a run: its message, notes and hook tool calls.
  async function tell(r, into) {
    try {
      const w = await U.whole(r);
      into.replaceChildren(...[
        w.message ? U.h('p', {class: 'message'}, w.message) : '',
        (w.notes || []).map(n => U.h('p', {class: 'message'}, n)),
        w.calls ? section(w.tools === 1 ? '1 hook tool call' : w.tools + ' hook tool calls' + (w.calls.length < w.tools ? `, the first ${w.calls.length} of them` : ''), U.h('table', {class: 'calls', 'aria-label': 'Hook tool calls'}, U.h('tbody', {}, w.calls.map(c => U.h('tr', {},
          U.h('td', {class: 'number'}, U.took(c.at)), U.h('td', {}, U.h('code', {}, c.call), c.exit ? ` exit ${c.exit}` : ''), U.h('td', {class: 'number'}, U.took(c.took))))))) : '',
      ].flat(Infinity).filter(Boolean));
    } catch (e) { into.replaceChildren(U.h('p', {class: 'hint'}, e.message)); }
  }

  async function logOf(r, into) {
    try {
      const lines = await U.linesOf(r);
      into.replaceChildren(...(lines.length ? lines.map(l => U.line(l, true)) : [U.h('li', {class: 'DEBUG'}, 'nothing')]));
    } catch (e) { into.replaceChildren(U.h('li', {class: 'ERROR'}, e.message)); }
  }

  function script(s) {
    const failed = U.all('run').filter(r => r.outcome === 'failed' || r.outcome === 'interrupted');
    return [U.h('h2', {}, s.name), U.h('p', {class: 'message'}, U.status({pass: 'active', fail: 'error'}[s.outcome] || 'unknown', {pass: 'passed', fail: 'failed', skip: 'skipped'}[s.outcome]), ` after ${U.took(s.seconds * 1000)}`),
      failed.length ? section('Runs that have failed', list(failed, r => U.link(r.key, `${r.unit} ${r.hook}`))) : '',
      s.output ? section('What it printed', U.h('pre', {class: 'lines', tabindex: '0'}, s.output)) : ''];
  }

  const shows = {app: application, unit, relation, saas, machine, run, script};
  const name = key => key.slice(0, key.indexOf('/'));

  // choose shows a part, draws it as chosen everywhere, and keeps it in the address.
  U.choose = key => {
    U.chosen = key;
    history.replaceState(null, '', '#' + encodeURI(key));
    show();
    side.scrollTop = 0;
    const part = U.parts.get(key);
    U.announce(part?.hook ? `${part.unit} ${part.hook}, ${part.outcome}` : side.querySelector('h2')?.textContent || '');
    for (const f of U.redraw) f();
  };

  let drawn = '', seen = null, ran = 0;
  function show() {
    const part = U.parts.get(U.chosen), f = shows[name(U.chosen)];
    drawn = U.chosen;
    seen = part;
    ran = (U.runs.get(part?.name) || []).length;
    if (!part || !f) {
      if (U.chosen) side.replaceChildren(U.h('p', {class: 'hint'}, `${U.chosen.slice(U.chosen.indexOf('/') + 1)} isn’t there (any more).`));
      return;
    }
    const focused = side.contains(document.activeElement) ? document.activeElement.textContent : '', top = side.scrollTop;
    side.replaceChildren(...f(part).flat(Infinity).filter(c => c !== undefined && c !== null && c !== ''));
    side.scrollTop = top;
    if (focused) [...side.querySelectorAll('button')].find(b => b.textContent === focused)?.focus({preventScroll: true});
  }

  // What is chosen is shown anew when it has changed, unless somebody is typing in it.
  const soon = U.later(() => {
    if (!U.chosen || side.querySelector('form :focus')) return;
    show();
  });
  side.addEventListener('focusout', () => soon());
  U.on(changed => {
    if (!U.chosen) {
      const wanted = U.wanted();
      if (U.parts.has(wanted)) U.choose(wanted);
      return;
    }
    const kind = name(U.chosen), part = U.parts.get(U.chosen);
    if (U.chosen !== drawn || part !== seen || kind === 'unit' && (changed.has('relation') || changed.has('run') && (U.runs.get(part?.name) || []).length !== ran) || kind === 'app' && changed.has('unit') || kind === 'relation' && changed.has('unit')) soon();
  });
})();
