'use strict';
// Where applications stand in the graph: who requires something stands to the left of
// who provides it, and what is related stands near.
U.layout = (nodes, edges) => {
  const place = new Map(), width = 300, height = 112;
  let top = 0;
  const groups = components(nodes, edges), single = groups.filter(g => g.length === 1).map(g => g[0]);
  for (const group of groups.filter(g => g.length > 1)) {
    const own = edges.filter(e => group.includes(e.from)), columns = ordered(group, own, layers(group, own));
    const most = Math.max(...columns.map(c => c.length));
    columns.forEach((column, x) => column.forEach((name, y) =>
      place.set(name, {x: x * width, y: top + (y + (most - column.length) / 2) * height})));
    top += most * height;
  }
  const across = Math.max(3, Math.ceil(Math.sqrt(single.length * 1.5)));
  single.forEach((name, i) => place.set(name, {x: i % across * width, y: top + Math.floor(i / across) * height}));
  return place;
};

// components are the nodes that are related, by whichever way; the largest first.
function components(nodes, edges) {
  const near = new Map(nodes.map(n => [n, []]));
  for (const e of edges) { near.get(e.from).push(e.to); near.get(e.to).push(e.from); }
  const seen = new Set(), groups = [];
  for (const first of nodes) {
    if (seen.has(first)) continue;
    const group = [first];
    seen.add(first);
    for (let i = 0; i < group.length; i++) {
      for (const n of near.get(group[i])) if (!seen.has(n)) { seen.add(n); group.push(n); }
    }
    groups.push(group);
  }
  return groups.sort((a, b) => b.length - a.length || U.natural(a[0], b[0]));
}

// layers says in which column each node is: right of all that require it, but for
// relations that close a circle.
function layers(group, edges) {
  const after = new Map(group.map(n => [n, []])), layer = new Map(group.map(n => [n, 0])), state = new Map();
  const order = [];
  for (const e of edges) after.get(e.from).push(e.to);
  const visit = n => {
    state.set(n, 'open');
    after.set(n, after.get(n).filter(next => {
      if (state.get(next) === 'open') return false;
      if (!state.has(next)) visit(next);
      return true;
    }));
    state.set(n, 'done');
    order.unshift(n);
  };
  for (const n of group) if (!state.has(n)) visit(n);
  for (const n of order) for (const next of after.get(n)) layer.set(next, Math.max(layer.get(next), layer.get(n) + 1));
  // One that nobody requires stands beside the first that it requires.
  for (const n of order) {
    const next = after.get(n).map(x => layer.get(x));
    if (layer.get(n) === 0 && next.length) layer.set(n, Math.min(...next) - 1);
  }
  return layer;
}

// ordered are the columns, each in an order in which few relations cross.
function ordered(group, edges, layer) {
  const columns = [];
  for (const n of group) (columns[layer.get(n)] ||= []).push(n);
  for (let i = 0; i < columns.length; i++) columns[i] = (columns[i] || []).sort(U.natural);
  const at = new Map();
  const number = () => columns.forEach(c => c.forEach((n, i) => at.set(n, i - (c.length - 1) / 2)));
  number();
  for (let sweep = 0; sweep < 6; sweep++) {
    const list = sweep % 2 ? [...columns].reverse() : columns;
    for (const column of list) {
      const weight = new Map(column.map(n => {
        const near = edges.filter(e => e.from === n || e.to === n).map(e => at.get(e.from === n ? e.to : e.from));
        return [n, near.length ? near.reduce((a, b) => a + b, 0) / near.length : at.get(n)];
      }));
      column.sort((a, b) => weight.get(a) - weight.get(b) || U.natural(a, b));
      number();
    }
  }
  return columns;
}
