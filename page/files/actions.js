'use strict';
// The buttons that change something; only where unitd was told to take them (--write).
(() => {
  const write = document.body.dataset.write === 'true';
  U.actions = {application: () => '', unit: () => ''};
  if (!write) return;

  // ask has unitd carry out a command, and shows what it prints.
  async function ask(words, output) {
    output.className = '';
    output.textContent = 'unitd ' + words.join(' ') + ' …';
    try {
      const {printed, wrong} = await U.post('/do', words);
      output.className = wrong ? 'wrong' : '';
      output.textContent = wrong || (printed || '').trim() || 'done';
    } catch (e) {
      output.className = 'wrong';
      output.textContent = e.message;
    }
  }

  const button = (text, f) => U.h('button', {type: 'button', onclick: f}, text);

  // What is chosen is drawn anew whenever it changes. Its buttons stay the same ones, with
  // what was typed and printed.
  let kept = {key: '', section: null};
  const keep = (key, make) => {
    if (kept.key !== key) kept = {key, section: make()};
    return kept.section;
  };

  U.actions.application = a => keep('app/' + a.name, () => {
    const output = U.h('output', {'aria-live': 'polite'});
    const option = U.h('input', {type: 'text', 'aria-label': 'Option', placeholder: 'option'}), value = U.h('input', {type: 'text', 'aria-label': 'Value', placeholder: 'value'});
    return U.h('section', {'aria-label': 'Change it'},
      a.subordinate ? '' : button('Add a unit', () => ask(['add-unit', a.name], output)),
      U.h('form', {onsubmit: e => { e.preventDefault(); if (option.value) ask(['config', a.name, option.value + '=' + value.value], output); }}, option, value, U.h('button', {}, 'Set'),
        button('Reset', () => { if (option.value) ask(['config', a.name, '--reset', option.value], output); })), output);
  });

  U.actions.unit = u => {
    const section = keep('unit/' + u.name, () => {
      const output = U.h('output', {'aria-live': 'polite'});
      const action = U.h('select', {'aria-label': 'Action', id: 'action', onchange: () => hint()}), parameters = U.h('input', {type: 'text', 'aria-label': 'Parameters'});
      const hint = () => { parameters.placeholder = action.selectedOptions[0]?.dataset.parameters || 'no parameters'; };
      return U.h('section', {'aria-label': 'Change it'},
        U.h('p', {id: 'failed'}, button('Run the failed hook again', () => ask(['resolved', u.name], output)), ' ', button('Go on without it', () => ask(['resolved', '--no-retry', u.name], output))),
        U.h('form', {hidden: true, id: 'run', onsubmit: e => { e.preventDefault(); ask(['run', u.name, action.value, ...words(parameters.value)], output); }}, action, parameters, U.h('button', {}, 'Run')), output);
    });
    section.querySelector('#failed').hidden = !u.failed;
    return section;
  };

  // options fills in the actions that the unit's charm has.
  U.actions.options = (_, detail) => {
    const form = document.getElementById('run'), select = document.getElementById('action');
    if (!form || !detail.actions) return;
    form.hidden = false;
    if (select.options.length) return;
    select.replaceChildren(...detail.actions.map(a => U.h('option', {title: a.description, 'data-parameters': Object.keys(a.params?.properties || {}).map(name => name + '=…').join(' ')}, a.name)));
    select.dispatchEvent(new Event('change'));
  };

  // words splits as a shell does where quotes are all that is special.
  const words = text => [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(m => m[0].replace(/"([^"]*)"|'([^']*)'/g, (_, a, b) => a ?? b));
})();
