'use strict';

// Shows /openapi.json and sends requests. All text is set as text, so nothing that a server answers is run.

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const parameterInput = (parameter) => {
  const input = element('input', { placeholder: parameter.required ? 'required' : 'optional' });
  const text = `${parameter.name} (${parameter.in}) ${parameter.description || ''} `;
  return { parameter, input, label: element('label', {}, text, input) };
};

const example = (api, operation) => {
  const media = operation.requestBody && operation.requestBody.content['application/json'];
  if (!media) return null;
  const name = (media.schema.$ref || '').split('/').pop();
  const schema = (api.components.schemas || {})[name] || {};
  return JSON.stringify(media.example || schema.example || {}, null, 2);
};

const send = async (path, method, inputs, body, shown) => {
  const headers = {};
  const query = new URLSearchParams();
  const token = document.getElementById('token').value;
  if (token) headers.Authorization = `Bearer ${token}`;
  for (const { parameter, input } of inputs) {
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (!input.value) continue;
    else if (parameter.in === 'query') query.set(parameter.name, input.value);
    else headers[parameter.name] = input.value;
  }
  if (body) headers['Content-Type'] = 'application/json';
  const url = query.size ? `${path}?${query}` : path;
  try {
    const answer = await fetch(url, { method: method.toUpperCase(), headers, body: body ? body.value : undefined });
    const text = await answer.text();
    let pretty = text;
    try { pretty = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is no JSON. */ }
    const interesting = ['location', 'idempotent-replayed', 'retry-after', 'www-authenticate'];
    const lines = interesting.filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`);
    shown.textContent = [`${answer.status} ${answer.statusText}`, ...lines, '', pretty].join('\n');
  } catch (error) {
    shown.textContent = String(error);
  }
};

const operationView = (api, path, method, operation) => {
  const inputs = (operation.parameters || []).map(parameterInput);
  const text = example(api, operation);
  const body = text === null ? null : element('textarea', { value: text, spellcheck: false });
  const shown = element('pre', { hidden: true });
  const button = element('button', { type: 'button', textContent: 'Send' });
  button.addEventListener('click', () => {
    shown.hidden = false;
    shown.textContent = '…';
    send(path, method, inputs, body, shown);
  });
  const rows = Object.entries(operation.responses).map(([status, { description }]) =>
    element('tr', {}, element('td', {}, element('code', { textContent: status })), element('td', { textContent: description })));
  const head = element('summary', {},
    element('code', { className: 'method', textContent: method.toUpperCase() }),
    element('code', { textContent: path }), ` ${operation.summary || ''}`);
  return element('details', {}, head,
    element('p', { textContent: operation.description || '' }),
    ...inputs.map(({ label }) => label), ...(body ? [body] : []), button, shown,
    element('h4', { textContent: 'Answers' }), element('table', {}, ...rows));
};

(async () => {
  const main = document.getElementById('operations');
  const api = await (await fetch('/openapi.json')).json();
  document.getElementById('about').textContent = api.info.description;
  const views = Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => operationView(api, path, method, operation)));
  main.replaceChildren(...views);
})();
