'use strict';
// When hooks ran: a lane for each unit, which can be moved and zoomed, with arrows from
// the run that has written something to the hooks that tell of it.
(() => {
  const panel = document.getElementById('timeline'), lane = 22, gutter = 132, head = 22;
  const colours = {committed: 'committed', failed: 'failed', interrupted: 'failed', stopped: 'stopped', 'cut-short': 'stopped', skipped: 'skipped', dropped: 'skipped'};
  const canvas = U.h('canvas', {'aria-hidden': 'true'}), spacer = U.h('div', {class: 'spacer'});
  const lanes = U.h('div', {
    class: 'lanes', tabindex: '0', role: 'group', 'aria-label': 'Timeline of hook runs. Left and right move through time, plus and minus zoom, up and down choose a unit, comma and period choose its runs, 0 shows all. The runs are also listed with each unit.',
  }, canvas, spacer);
  const arrows = U.h('input', {type: 'checkbox', id: 'arrows', onchange: () => soon()});
  // In order, each run is as long as any other. So worlds are drawn whose clock stands still.
  const ordered = U.h('input', {type: 'checkbox', id: 'ordered', onchange: () => { touched = following = false; soon(); }});
  const button = (text, label, f) => U.h('button', {type: 'button', 'aria-label': label, title: label, onclick: f}, text);
  panel.append(U.h('div', {class: 'tools'},
    button('−', 'Zoom out', () => zoom(1.6)), button('+', 'Zoom in', () => zoom(1 / 1.6)), button('All', 'Show all', all), button('Now', 'Follow what happens', follow),
    U.h('label', {}, arrows, ' all causes'), U.h('label', {}, ordered, ' in order, not in time'),
    U.h('div', {class: 'legend'}, ['committed', 'failed', 'stopped', 'skipped', 'running'].map(name => {
      const i = U.h('i', {});
      i.style.background = `var(--${name})`;
      return U.h('span', {}, i, name);
    }))), lanes);

  // What is seen: from a time on, for so many milliseconds. While it follows, it ends now.
  let from = 0, span = 60000, following = true, touched = false, bars = [], units = [];
  const now = () => U.details || ordered.checked ? ends()[1] : Date.now();
  const start = r => ordered.checked ? U.rank(r) : r.started, length = r => ordered.checked ? .9 : r.took;

  function ends() {
    if (ordered.checked) return [0, Math.max(1, U.order().length)];
    let first = Infinity, last = -Infinity;
    for (const own of U.runs.values()) {
      for (const r of own) if (r.started) { first = Math.min(first, r.started); break; }
      for (const r of own.slice(-3)) last = Math.max(last, r.started + r.took);
    }
    return first === Infinity ? [Date.now() - 60000, Date.now()] : [first, Math.max(last, first + 50)];
  }

  // fit is what is seen before anybody has moved it: the last ten minutes in which something
  // has run, to now while something does.
  function fit() {
    const [first, last] = ends(), busy = !U.details && !ordered.checked && (now() - last < 3000 || U.all('unit').some(u => u.agent.status === 'executing'));
    const end = busy ? now() : last, begin = Math.max(first, end - (ordered.checked ? 200 : 600000)), room = Math.max(ordered.checked ? 1 : 500, end - begin);
    from = begin - room * .02;
    span = room * 1.06;
  }

  function all() {
    const [first, last] = ends();
    from = first - (last - first) * .02;
    span = Math.max(ordered.checked ? 1 : 50, (last - first) * 1.04);
    following = false; touched = true;
    soon();
  }

  function follow() { following = true; touched = true; span = Math.min(span, ordered.checked ? 60 : 60000); soon(); }

  function zoom(by, around) {
    const x = around === undefined ? from + span / 2 : around;
    const next = Math.min(1e10, Math.max(2, span * by));
    from = x - (x - from) * next / span;
    span = next; touched = true;
    if (around !== undefined || by < 1) following = following && by > 1;
    soon();
  }

  function move(by) { from += by; following = false; touched = true; soon(); }

  const x = (t, width) => gutter + (t - from) / span * (width - gutter);

  // step is the distance of marks on the axis: a round one, some ten of them.
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 6048e5];
  const mark = (t, step) => step < 1000 ? U.clock(t) + '.' + String(Math.floor(t % 1000)).padStart(3, '0') : step < 864e5 ? U.clock(t) : U.day(t);

  function draw() {
    if (panel.hidden || !lanes.clientWidth) return;
    units = lanesOf();
    const width = lanes.clientWidth, height = lanes.clientHeight, ratio = devicePixelRatio || 1;
    spacer.style.height = head + units.length * lane + 'px';
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      canvas.width = width * ratio; canvas.height = height * ratio;
      canvas.style.width = width + 'px'; canvas.style.height = height + 'px';
    }
    if (!touched) fit();
    else if (following) from = now() - span * .97;
    const c = canvas.getContext('2d'), colour = Object.fromEntries(['text', 'soft', 'line', 'card', 'chosen', 'accent', 'committed', 'failed', 'stopped', 'skipped', 'running'].map(n => [n, U.colour(n)]));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    c.textBaseline = 'middle';
    axis(c, colour, width, height);
    bars = [];
    const top = lanes.scrollTop, first = Math.max(0, Math.floor((top - head) / lane)), last = Math.min(units.length, Math.ceil((top + height) / lane));
    c.save();
    c.beginPath(); c.rect(0, head, width, height - head); c.clip();
    for (let i = first; i < last; i++) drawLane(c, colour, units[i], head + i * lane - top, width);
    drawArrows(c, colour, width, top);
    c.restore();
  }

  // lanesOf are the units that are there and that the filter lets through, and those that are
  // gone and have run something.
  function lanesOf() {
    const there = U.units(), filtered = document.getElementById('search').value.trim();
    if (filtered) return there;
    const gone = [...U.runs].filter(([unit, own]) => own.length && !U.parts.has('unit/' + unit)).map(([unit]) => unit).sort(U.natural);
    return there.concat(gone.map(name => ({name, gone: true, agent: {}})));
  }

  function axis(c, colour, width, height) {
    const step = steps.find(s => s / span * (width - gutter) > 90 && (!ordered.checked || s < 1e4)) || steps[steps.length - 1];
    c.fillStyle = colour.soft; c.strokeStyle = colour.line; c.lineWidth = 1;
    const zone = ordered.checked ? 0 : new Date().getTimezoneOffset() * 60000;
    for (let t = Math.ceil((from - zone) / step) * step + zone; t < from + span; t += step) {
      const at = Math.round(x(t, width)) + .5;
      if (at < gutter) continue;
      c.beginPath(); c.moveTo(at, head); c.lineTo(at, height); c.stroke();
      const run = ordered.checked && U.order()[Math.round(t)];
      if (!ordered.checked || run) c.fillText(run ? U.clock(run.started) : mark(t, step), at + 3, head / 2);
    }
  }

  function drawLane(c, colour, unit, y, width) {
    const chosen = U.chosen === 'unit/' + unit.name || U.parts.get(U.chosen)?.unit === unit.name && U.chosen.startsWith('run/');
    if (chosen) { c.fillStyle = colour.chosen; c.fillRect(0, y, width, lane); }
    c.strokeStyle = colour.line;
    c.beginPath(); c.moveTo(0, y + lane - .5); c.lineTo(width, y + lane - .5); c.stroke();
    c.fillStyle = unit.gone ? colour.soft : colour.text;
    c.fillText(unit.name.length > 18 ? unit.name.slice(0, 17) + '…' : unit.name, 8, y + lane / 2);
    const own = U.runs.get(unit.name) || [];
    let filled = -1;
    for (let i = startAt(own); i < own.length && start(own[i]) < from + span; i++) {
      const r = own[i], left = Math.max(gutter, x(start(r), width)), right = Math.max(left + 2, x(start(r) + length(r), width));
      if (right < gutter) continue;
      bars.push({run: r, left, right, top: y + 3, bottom: y + lane - 4});
      if (right < filled && U.chosen !== r.key) continue; // it is behind the others
      filled = Math.max(filled, left + 2);
      c.fillStyle = colour[colours[r.outcome] || 'skipped'];
      c.fillRect(left, y + 3, right - left, lane - 7);
      if (r.outcome === 'failed' || r.outcome === 'interrupted') { c.fillStyle = colour.card; c.fillRect(left, y + lane / 2 - 2, Math.min(right - left, 6), 2); }
      if (r.retry) { c.fillStyle = colour.text; c.beginPath(); c.moveTo(left, y + 1); c.lineTo(left + 5, y + 1); c.lineTo(left, y + 6); c.fill(); } // a corner: it is run again
      if (right - left > 34) label(c, colour, r, left, right, y);
      if (U.chosen === r.key) { c.strokeStyle = colour.text; c.lineWidth = 2; c.strokeRect(left - 1, y + 2, right - left + 2, lane - 5); c.lineWidth = 1; }
    }
    if (unit.agent.status === 'executing' && !U.details) {
      const left = Math.max(gutter, x(ordered.checked ? now() : Math.min(unit.agent.since || now(), now()), width)), right = Math.max(left + 3, x(now() + (ordered.checked ? .5 : 0), width));
      c.fillStyle = colour.running;
      c.fillRect(left, y + 3, right - left, lane - 7);
    }
  }

  // startAt is the first run that may be seen: those that began before last long, at most
  // as long as the longest of the unit.
  function startAt(own) {
    let low = 0, high = own.length;
    while (low < high) { const mid = low + high >> 1; if (start(own[mid]) < from) low = mid + 1; else high = mid; }
    return Math.max(0, low - 3);
  }

  function label(c, colour, r, left, right, y) {
    c.save();
    c.beginPath(); c.rect(left, y, right - left - 2, lane); c.clip();
    c.fillStyle = '#ffffff';
    c.fillText(r.hook, left + 4, y + lane / 2 - .5);
    c.restore();
    if (right - left < 120 || ordered.checked) return;
    c.fillStyle = colour.card; // a tick for each tool call
    for (const at of U.ticks(r)) c.fillRect(left + (right - left) * Math.min(1, at / (r.took || 1)), y + lane - 8, 1.5, 4);
  }

  function drawArrows(c, colour, width, top) {
    const row = new Map(units.map((u, i) => [u.name, head + i * lane - top + lane / 2]));
    const draw = (cause, run, strong) => {
      const y1 = row.get(cause.unit), y2 = row.get(run.unit);
      if (y1 === undefined || y2 === undefined) return;
      const x1 = x(start(cause) + length(cause), width), x2 = x(start(run), width);
      if (x2 < gutter || x1 > width || x1 < gutter && x2 > width) return;
      c.strokeStyle = c.fillStyle = strong ? colour.accent : colour.soft;
      c.lineWidth = strong ? 2 : 1;
      c.globalAlpha = strong ? 1 : .55;
      const bend = Math.max(8, Math.min(40, (x2 - x1) / 2));
      c.beginPath(); c.moveTo(Math.max(gutter, x1), y1); c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2); c.stroke();
      c.beginPath(); c.moveTo(x2, y2); c.lineTo(x2 - 7, y2 - 4); c.lineTo(x2 - 7, y2 + 4); c.fill();
      c.globalAlpha = 1; c.lineWidth = 1;
    };
    if (arrows.checked) {
      let drawn = 0;
      for (const bar of bars) {
        const cause = U.cause(bar.run);
        if (cause && drawn++ < 400) draw(cause, bar.run, false);
      }
    }
    const run = U.chosen.startsWith('run/') ? U.parts.get(U.chosen) : undefined;
    if (!run) return;
    const cause = U.cause(run);
    if (cause) draw(cause, run, true);
    for (const next of U.effects(run)) draw(run, next, true);
  }

  // ticks are when the tool calls of a run began; one that isn't whole has nothing else of them.
  U.ticks = run => run.calls ? run.calls.map(call => call.at) : run.ticks || [];

  // cause is the run that a run follows from, and effects are those that follow from it.
  U.cause = run => run.from && U.parts.get(run.from);
  U.effects = run => U.follow.get(run.key) || [];

  const soon = U.later(draw, true);
  const at = e => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  const barAt = (px, py) => bars.findLast(b => px >= b.left - 2 && px <= b.right + 2 && py >= b.top && py <= b.bottom);

  lanes.addEventListener('wheel', e => {
    const [px] = at(e);
    if (e.ctrlKey || e.altKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : .8, from + (px - gutter) / (lanes.clientWidth - gutter) * span); }
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); move((e.deltaX || e.deltaY) / lanes.clientWidth * span); }
  }, {passive: false});
  let held = null;
  lanes.addEventListener('pointerdown', e => { if (e.button === 0 && e.offsetX < lanes.clientWidth) held = {x: e.clientX, y: e.clientY, from, moved: false}; });
  addEventListener('pointercancel', () => { held = null; });
  addEventListener('pointermove', e => {
    if (held && !e.buttons) held = null;
    if (held) {
      if (Math.abs(e.clientX - held.x) > 3) { held.moved = true; following = false; touched = true; from = held.from - (e.clientX - held.x) / (lanes.clientWidth - gutter) * span; soon(); }
    } else if (lanes.contains(e.target)) tell(e);
  });
  addEventListener('pointerup', e => {
    const was = held;
    held = null;
    if (!was || was.moved || !lanes.contains(e.target)) return;
    const [px, py] = at(e), bar = barAt(px, py), unit = units[Math.floor((py + lanes.scrollTop - head) / lane)];
    if (bar) U.choose(bar.run.key);
    else if (unit && py > head) U.choose('unit/' + unit.name);
  });

  const tip = U.h('div', {id: 'tip', hidden: true, 'aria-hidden': 'true'});
  document.body.append(tip);
  lanes.addEventListener('pointerleave', () => { tip.hidden = true; });
  function tell(e) {
    const bar = barAt(...at(e));
    tip.hidden = !bar;
    lanes.style.cursor = bar ? 'pointer' : '';
    if (!bar) return;
    const r = bar.run;
    tip.textContent = `${r.unit} ${r.hook}: ${r.outcome}, ${U.took(r.took)}` + (r.retry ? ', run again' : '') + (r.cause ? '\n' + r.cause : '') + (r.message ? '\n' + r.message : '');
    tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + 'px';
  }

  lanes.addEventListener('keydown', e => {
    const keys = {
      ArrowLeft: () => move(-span / 6), ArrowRight: () => move(span / 6), '+': () => zoom(1 / 1.6), '=': () => zoom(1 / 1.6), '-': () => zoom(1.6), 0: all, Home: all, End: follow,
      ArrowUp: () => step(-1), ArrowDown: () => step(1), ',': () => along(-1), '.': () => along(1),
    };
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  });
  const unitNow = () => U.parts.get(U.chosen)?.unit || U.parts.get(U.chosen)?.name || '';
  function step(by) {
    const i = units.findIndex(u => u.name === unitNow()), next = units[Math.max(0, Math.min(units.length - 1, i + by))];
    if (!next) return;
    U.choose('unit/' + next.name);
    const y = head + units.indexOf(next) * lane;
    if (y - head < lanes.scrollTop) lanes.scrollTop = y - head;
    if (y + lane > lanes.scrollTop + lanes.clientHeight) lanes.scrollTop = y + lane - lanes.clientHeight;
  }
  function along(by) {
    const own = U.runs.get(unitNow()) || [], i = own.findIndex(r => r.key === U.chosen), next = own[i < 0 ? (by > 0 ? 0 : own.length - 1) : i + by];
    if (!next) return;
    U.choose(next.key);
    if (start(next) < from || start(next) > from + span) { from = start(next) - span / 2; following = false; touched = true; }
  }

  // A world whose clock stands still is shown in order at first.
  U.on(changed => {
    if (!U.details || !changed.has('run')) return;
    const runs = U.all('run');
    ordered.checked = runs.length > 0 && runs.filter(r => r.took > 0).length < runs.length / 2;
    touched = following = false;
  });
  lanes.addEventListener('scroll', soon, {passive: true});
  new ResizeObserver(soon).observe(lanes);
  U.redraw.push(soon);
  U.on(changed => { if (changed.has('run') || changed.has('unit')) soon(); });
  // Time goes on, and what runs grows: four times a second, where that is to be seen.
  setInterval(() => {
    if (document.hidden || panel.hidden || U.details || ordered.checked || !(following && touched || U.all('unit').some(u => u.agent.status === 'executing'))) return;
    soon();
  }, 250);
})();
