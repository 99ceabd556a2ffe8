'use strict';
// The parts of the page, as they come, and who wants to know of them.
U.parts = new Map();      // by key
U.kinds = new Map();      // keys by kind: "unit" -> Set
U.runs = new Map();       // of each unit, by when they began
U.follow = new Map();     // the runs that follow from one, by its key
U.lines = [];             // the newest of the log
U.details = null;         // in a file: what a server would be asked for
const listeners = [];

// on has f called with the kinds of parts that have changed.
U.on = f => listeners.push(f);

U.all = kind => [...U.kinds.get(kind) || []].map(key => U.parts.get(key));

U.unitsOf = app => U.all('unit').filter(u => u.application === app).sort(U.by(u => u.name));

// findRun is the key of the newest run of a unit that has that number: units of that name
// may have been there before.
U.findRun = (unit, number) => (U.runs.get(unit) || []).findLast(r => r.run === number)?.key;

const nth = key => Number(key.slice(key.lastIndexOf('/') + 1));

// order are all runs in the order in which they were committed, by the store's revisions.
// Where those aren't known, it is the order in which they began. rank is where a run stands
// in it.
let sequence = null;
U.order = () => {
  if (sequence) return sequence;
  sequence = [];
  for (const own of [...U.runs.keys()].sort(U.natural).map(unit => U.runs.get(unit))) {
    let place = 0, at = 0; // one that wasn't committed comes after what it was decided on by
    for (const r of own) {
      place = r.place = Math.max(place, r.rev || r.seen || 0);
      at = r.after = Math.max(at, r.started);
      sequence.push(r);
    }
  }
  const known = sequence.every(r => r.place > 0);
  sequence.sort((a, b) => known ? a.place - b.place || a.after - b.after : a.after - b.after);
  sequence.forEach((r, i) => { r.rank = i; });
  return sequence;
};
U.rank = r => { U.order(); return r.rank; };

const kindOf = key => key.slice(0, (key + '/').indexOf('/'));

function drop(key, old) {
  if (kindOf(key) !== 'run' || !old) return;
  const own = U.runs.get(old.unit) || [], i = own.indexOf(old);
  if (i >= 0) own.splice(i, 1);
  if (old.from) {
    const after = U.follow.get(old.from) || [], j = after.indexOf(old);
    if (j >= 0) after.splice(j, 1);
    if (!after.length) U.follow.delete(old.from);
  }
}

function add(key, part) {
  if (typeof part === 'object') part.key = key;
  if (kindOf(key) !== 'run') return;
  if (!U.runs.has(part.unit)) U.runs.set(part.unit, []);
  const own = U.runs.get(part.unit);
  let i = own.length;
  while (i > 0 && nth(own[i - 1].key) > nth(key)) i--;
  own.splice(i, 0, part);
  if (part.from) {
    if (!U.follow.has(part.from)) U.follow.set(part.from, []);
    U.follow.get(part.from).push(part);
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
    const at = l => l.at ?? Date.parse(l.time), had = U.lines.length;
    U.lines = U.lines.concat(event.lines);
    if (U.lines.some((l, i) => i > 0 && i >= had && at(l) < at(U.lines[i - 1]))) U.lines.sort((a, b) => at(a) - at(b)); // another host's
    U.lines = U.lines.slice(-1000);
    changed.add('line');
  }
  if (changed.has('run')) sequence = null;
  for (const f of listeners) f(changed);
};

// connect follows the server, and says how that goes.
U.connect = say => {
  const inside = document.getElementById('data');
  if (inside) return U.open(JSON.parse(inside.textContent).worlds, say);
  takeToken();
  stream(say);
};

// The token comes with the address, and stays in this tab alone: it isn't in the address bar
// any more, and no other page gets it.
let token = '';
function takeToken() {
  const found = location.hash.match(/^#token=(\w+)$/);
  try {
    if (found) sessionStorage.setItem('token', found[1]);
    token = sessionStorage.getItem('token') || '';
  } catch { token = found ? found[1] : ''; }
  if (found) history.replaceState(null, '', location.pathname);
}

// stream reads events, and begins again when the connection is lost.
async function stream(say) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10000)) {
    try {
      const answer = await ask('/events');
      if (answer.status === 401) { say('not allowed: open the address that unitd has printed', false); return; }
      if (!answer.ok) throw new Error((await answer.text()).trim());
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      say('live', true);
      for (let rest = ''; ;) {
        const {value, done} = await reader.read();
        if (done) break;
        const events = (rest + value).split('\n\n');
        rest = events.pop();
        for (const event of events) if (event.startsWith('data: ')) U.apply(JSON.parse(event.slice(6)));
        pause = 500;
      }
    } catch { /* it is tried again */ }
    say('not connected', false);
    await new Promise(done => setTimeout(done, pause));
  }
}

const ask = (path, more) => fetch(path, Object.assign({headers: {Authorization: 'Bearer ' + token}}, more));

// wanted is the key that the address names.
U.wanted = () => { try { return decodeURI(location.hash.slice(1)); } catch { return ''; } };

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
  const wanted = U.wanted();
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

// get asks the server for something; the error says what is wrong. A browser breaks off what it is asking for
// when a network comes or goes on its host, as those of units do: then it is asked again.
U.get = async path => {
  for (let pause = 100; ; pause *= 2) {
    try {
      const answer = await ask(path);
      if (answer.ok) return await answer.json();
      throw new Error((await answer.text()).trim());
    } catch (e) {
      if (!(e instanceof TypeError) || pause > 1000) throw e;
    }
    await new Promise(done => setTimeout(done, pause));
  }
};

U.post = async (path, body) => {
  const answer = await ask(path, {method: 'POST', body: JSON.stringify(body)});
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
};

// detail is that of a unit.
U.detail = async unit => {
  if (!U.details) return U.get('/unit?name=' + encodeURIComponent(unit));
  if (!U.details[unit]) throw new Error('nothing more is kept of ' + unit);
  return U.details[unit];
};

// whole is a run with all that there is of it.
U.whole = async run => {
  if (U.details) return run;
  const q = new URLSearchParams({unit: run.unit, id: run.id || '', run: run.run, outcome: run.outcome});
  return U.get('/run?' + q);
};

// linesOf is what a unit has logged in a run.
U.linesOf = async run => {
  const entity = 'unit-' + run.unit.replace('/', '-'), from = Math.floor(run.started), to = run.started + run.took + 1;
  if (!U.details) return U.get('/lines?entity=' + entity + '&from=' + from + '&to=' + to);
  return U.lines.filter(l => l.entity === entity && Date.parse(l.time) >= from && Date.parse(l.time) <= to);
};
