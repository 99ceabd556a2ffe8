'use strict';
// The parts of the page, as they come, and who wants to know of them.
U.parts = new Map();      // by key
U.kinds = new Map();      // keys by kind: "unit" -> Set
U.runs = new Map();       // of each unit, by when they began
U.follow = new Map();     // the runs that follow from one, by "unit#run"
U.lines = [];             // the newest of the log
U.details = null;         // in a file: what a server would be asked for
const listeners = [];

// on has f called with the kinds of parts that have changed.
U.on = f => listeners.push(f);

U.all = kind => [...U.kinds.get(kind) || []].map(key => U.parts.get(key));

U.unitsOf = app => U.all('unit').filter(u => u.application === app).sort(U.by(u => u.name));

U.ref = (unit, run) => unit + '#' + run;

// findRun is the key of a run of a unit, by its number.
U.findRun = (unit, number) => (U.runs.get(unit) || []).find(r => r.run === number)?.key;

// order are all runs in the order in which they were committed, by the store's revisions.
// Where those aren't known, it is the order in which they began. rank is where a run stands
// in it.
let sequence = null;
U.order = () => {
  if (sequence) return sequence;
  sequence = [];
  const next = new Map([...U.runs.keys()].sort(U.natural).map(unit => [unit, 0]));
  for (const own of U.runs.values()) {
    let last = 0; // one that wasn't committed comes after what it was decided on by
    for (const r of own) last = r.place = r.rev || Math.max(last, r.seen || 0);
  }
  const before = (a, b) => a.place && b.place && a.place !== b.place ? a.place < b.place : a.started < b.started;
  for (;;) {
    let best = null;
    for (const [unit, i] of next) {
      const r = U.runs.get(unit)[i];
      if (r && (!best || before(r, best))) best = r;
    }
    if (!best) break;
    next.set(best.unit, next.get(best.unit) + 1);
    best.rank = sequence.push(best) - 1;
  }
  return sequence;
};
U.rank = r => { U.order(); return r.rank; };

const kindOf = key => key.slice(0, (key + '/').indexOf('/'));

function drop(key, old) {
  if (kindOf(key) !== 'run' || !old) return;
  const own = U.runs.get(old.unit) || [], i = own.indexOf(old);
  if (i >= 0) own.splice(i, 1);
  if (old.from) {
    const after = U.follow.get(U.ref(old.from.unit, old.from.run)) || [], j = after.indexOf(old);
    if (j >= 0) after.splice(j, 1);
  }
}

function add(key, part) {
  part.key = key;
  if (kindOf(key) !== 'run') return;
  if (!U.runs.has(part.unit)) U.runs.set(part.unit, []);
  const own = U.runs.get(part.unit);
  let i = own.length;
  while (i > 0 && own[i - 1].started > part.started) i--;
  own.splice(i, 0, part);
  if (part.from) {
    const ref = U.ref(part.from.unit, part.from.run);
    if (!U.follow.has(ref)) U.follow.set(ref, []);
    U.follow.get(ref).push(part);
  }
}

// apply takes an event of the server.
U.apply = event => {
  const changed = new Set();
  if (event.first) {
    for (const kind of U.kinds.keys()) changed.add(kind);
    U.parts.clear(); U.kinds.clear(); U.runs.clear(); U.follow.clear();
    U.lines = [];
  }
  for (const key of event.gone || []) {
    drop(key, U.parts.get(key));
    U.parts.delete(key);
    U.kinds.get(kindOf(key))?.delete(key);
    changed.add(kindOf(key));
  }
  for (const [key, part] of Object.entries(event.set || {})) {
    const kind = kindOf(key);
    drop(key, U.parts.get(key));
    U.parts.set(key, part);
    if (!U.kinds.has(kind)) U.kinds.set(kind, new Set());
    U.kinds.get(kind).add(key);
    add(key, part);
    changed.add(kind);
  }
  if (event.lines) {
    U.lines = U.lines.concat(event.lines).slice(-1000);
    changed.add('line');
  }
  if (changed.has('run')) sequence = null;
  for (const f of listeners) f(changed);
};

// connect follows the server, and says how that goes.
U.connect = say => {
  const inside = document.getElementById('data');
  if (inside) return U.open(JSON.parse(inside.textContent).worlds, say);
  const source = new EventSource('/events');
  source.onopen = () => say('live', true);
  source.onerror = () => say('not connected', false);
  source.onmessage = message => U.apply(JSON.parse(message.data));
};

// open shows the worlds of a file: one, which the address may name, and others when they
// are chosen.
U.open = (worlds, say) => {
  const select = document.getElementById('world');
  say('a file', true);
  if (!worlds.length) return;
  document.getElementById('worlds').hidden = worlds.length < 2;
  select.append(...worlds.map(w => U.h('option', {}, w.name)));
  const show = () => {
    const world = worlds[select.selectedIndex];
    U.details = world.details || {};
    U.apply({first: true, set: world.set, lines: world.lines});
    for (const f of U.redraw) f();
  };
  const wanted = decodeURI(location.hash.slice(1));
  select.selectedIndex = Math.max(0, worlds.findIndex(w => 'script/' + w.name === wanted));
  select.addEventListener('change', () => {
    const script = 'script/' + worlds[select.selectedIndex].name;
    U.details = {};
    show();
    if (U.parts.has(script)) U.choose(script);
  });
  show();
  const first = 'script/' + worlds[select.selectedIndex].name;
  if (!wanted && U.parts.has(first)) U.choose(first);
};

// get asks the server for something; the error says what is wrong.
U.get = async path => {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
};

U.post = async (path, body) => {
  const answer = await fetch(path, {method: 'POST', body: JSON.stringify(body)});
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
};

// detail is that of a unit.
U.detail = async unit => {
  if (!U.details) return U.get('/unit?name=' + encodeURIComponent(unit));
  if (!U.details[unit]) throw new Error('nothing more is kept of ' + unit);
  return U.details[unit];
};

// linesOf is what a unit has logged in a run.
U.linesOf = async run => {
  const entity = 'unit-' + run.unit.replace('/', '-'), from = run.started, to = run.started + run.took + 1;
  if (!U.details) return U.get('/lines?entity=' + entity + '&from=' + from + '&to=' + to);
  return U.lines.filter(l => l.entity === entity && Date.parse(l.time) >= from && Date.parse(l.time) <= to);
};
