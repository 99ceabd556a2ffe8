'use strict';
// What is written in several places: elements, times, statuses.
const U = window.U = {};

U.redraw = [];   // what draws all anew: after a choice, a filter or another theme
U.chosen = '';   // the key of the part that is chosen

// h makes an element: h('p', {class: 'x', onclick: f}, 'text', child).
U.h = (tag, attributes, ...children) => U.fill(document.createElement(tag), attributes, children);

// s makes an element of SVG.
U.s = (tag, attributes, ...children) => U.fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

U.fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') element.style.cssText = value; // an attribute would be refused by the page's policy
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(c => c !== undefined && c !== null && c !== false));
  return element;
};

// natural compares names so that db/2 comes before db/10.
U.levels = ['TRACE', 'DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'];

U.natural = new Intl.Collator('en', {numeric: true}).compare;

U.by = key => (a, b) => U.natural(String(key(a)), String(key(b)));

// took is a length of time in milliseconds, for people.
U.took = ms => ms < 10 ? ms.toFixed(1) + ' ms' : ms < 1000 ? Math.round(ms) + ' ms' : ms < 60000 ? (ms / 1000).toFixed(1) + ' s' :
  ms < 3600000 ? Math.floor(ms / 60000) + ' min ' + Math.round(ms % 60000 / 1000) + ' s' : Math.floor(ms / 3600000) + ' h ' + Math.round(ms % 3600000 / 60000) + ' min';

const two = n => String(n).padStart(2, '0');
U.clock = ms => { const t = new Date(ms); return two(t.getHours()) + ':' + two(t.getMinutes()) + ':' + two(t.getSeconds()); };
U.day = ms => { const t = new Date(ms); return t.getFullYear() + '-' + two(t.getMonth() + 1) + '-' + two(t.getDate()); };
U.when = ms => ms ? U.day(ms) + ' ' + U.clock(ms) : '';

// Each status has a shape besides its colour, for those who can't tell colours apart.
const shapes = {
  active: 'M8 1a7 7 0 1 0 0 14A7 7 0 1 0 8 1Z',
  waiting: 'M8 1a7 7 0 1 0 0 14A7 7 0 1 0 8 1ZM8 4a4 4 0 1 1 0 8A4 4 0 1 1 8 4Z',
  blocked: 'M8 1 15.5 15H.5Z',
  maintenance: 'M8 0 16 8 8 16 0 8Z',
  error: 'M1 4 4 1 8 5 12 1 15 4 11 8 15 12 12 15 8 11 4 15 1 12 5 8Z',
  unknown: 'M2 6.5h12v3H2Z',
};
const shapeOf = {executing: 'maintenance', failed: 'error', lost: 'error', allocating: 'waiting', idle: 'active'};
U.shape = word => shapes[word] || shapes[shapeOf[word]] || shapes.unknown;

U.words = ['error', 'blocked', 'maintenance', 'waiting', 'active', 'unknown', 'terminated'];

// status shows a status word with its shape.
U.status = (word, text) => U.h('span', {class: 'status s-' + word},
  U.s('svg', {viewBox: '0 0 16 16', 'aria-hidden': 'true'}, U.s('path', {d: U.shape(word), fill: 'currentColor', 'fill-rule': 'evenodd'})), text || word);

// link is a button that chooses something.
U.link = (key, text) => U.h('button', {type: 'button', class: 'link', onclick: () => U.choose(key)}, text);

// later calls f once, before the next picture is drawn, however often it is asked for. While
// a button of a pointer is down nothing is drawn, as what was pressed would be gone before the
// button is up again.
let pressed = false;
addEventListener('pointerdown', () => { pressed = true; }, true);
for (const name of ['pointerup', 'pointercancel', 'blur']) addEventListener(name, () => setTimeout(() => { pressed = false; }), true);
U.later = (f, even) => {
  let due = false;
  const draw = () => {
    if (pressed && !even) { requestAnimationFrame(draw); return; }
    due = false;
    f();
  };
  return () => {
    if (due) return;
    due = true;
    requestAnimationFrame(draw);
  };
};

U.colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

U.announce = text => { document.getElementById('announce').textContent = text; };
