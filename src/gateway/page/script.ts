/**
 * What runs in the browser. It reads a room as an agent would, and puts in nothing but text: no message can become markup.
 * Kept as text so that it needs no build step.
 */
export const SCRIPT = String.raw`'use strict';
const MAX_SHOWN = 200;
const REFRESH_MS = 300;
const $ = (id) => document.getElementById(id);
let room = new URLSearchParams(location.search).get('room') ?? '';
let token = sessionStorage.getItem('synod-token') ?? '';
let shown = 0;
let clockSkew = 0;
let session = new AbortController();

function node(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function line(parts) {
  const item = document.createElement('li');
  for (const [text, className] of parts) item.append(node('span', text, className), ' ');
  return item;
}

/** An age that goes on by itself. */
function aged(item, since, word) {
  const age = node('span', '', 'dim');
  age.dataset.since = since;
  age.dataset.word = word;
  item.append(age);
  return item;
}

function tick() {
  for (const age of document.querySelectorAll('[data-since]')) {
    const seconds = Math.max(0, Math.round((Date.now() + clockSkew - Date.parse(age.dataset.since)) / 1000));
    const text = seconds < 120 ? seconds + ' s' : seconds < 7200 ? Math.round(seconds / 60) + ' min' : Math.round(seconds / 3600) + ' h';
    age.textContent = age.dataset.word + ' ' + text;
  }
}

async function ask(path, init = {}) {
  const response = await fetch('/v1/rooms/' + encodeURIComponent(room) + path, {
    ...init,
    signal: session.signal,
    headers: { authorization: 'Bearer ' + token, ...init.headers },
  });
  const date = Date.parse(response.headers.get('date') ?? '');
  if (Number.isFinite(date)) clockSkew = date - Date.now();
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw Object.assign(new Error(body.error?.message ?? 'the gateway answered ' + response.status), { status: response.status });
}

function fill(id, items, none) {
  $(id).replaceChildren(...(items.length > 0 ? items : [line([[none, 'dim']])]));
}

function showState(state) {
  const held = [];
  for (const each of state.coordinators)
    if (each.coordinator)
      held.push(aged(line([[each.coordinator, 'who'], ['leads ' + (each.role ?? each.id) + ', epoch ' + each.epoch]]), each.since, 'for'));
  for (const manager of state.locks)
    for (const each of manager.resources ?? [])
      for (const holder of each.holders) {
        const waiting = each.queue_count > 0 ? ', ' + each.queue_count + ' waiting' : '';
        held.push(aged(line([[holder.holder, 'who'], ['has ' + each.resource + ' (' + holder.lock_type + ', token ' + holder.token + ')' + waiting]]), holder.since, 'for'));
      }
  for (const task of state.tasks)
    if (task.holder) held.push(aged(line([[task.holder, 'who'], ['does ' + task.id]]), task.since, 'for'));
  fill('held', held, 'nothing is held');
  const open = [];
  for (const each of state.proposals) {
    const tally = Object.entries(each.tally ?? {}).map(([choice, n]) => choice + ' ' + n).join(', ');
    open.push(aged(line([['vote', 'who'], [(each.question ?? each.id) + ' — ' + tally + '; quorum ' + each.quorum]]), each.since ?? each.proposed_at, 'open for'));
  }
  for (const each of state.barriers)
    open.push(aged(line([['barrier', 'who'], [(each.phase ?? each.id) + ' — ' + (each.arrived_count ?? 0) + ' in, missing ' + ((each.missing ?? []).slice(0, 8).join(', ') || 'nobody')]]), each.since, 'open for'));
  for (const task of state.tasks)
    if (!task.holder) open.push(aged(line([['task', 'who'], [task.id + (task.priority ? ' (priority ' + task.priority + ')' : '')]]), task.since, 'open for'));
  fill('open', open, 'nothing is open');
  tick();
}

function showMessage({ seq, envelope, words }) {
  if (seq <= shown) return;
  shown = seq;
  const at = Date.parse(envelope.ts);
  const said = envelope.type === 'room.post' ? [[envelope.from, 'who'], [String(envelope.text)]] : [[words], [envelope.type, 'dim']];
  const item = line([[Number.isNaN(at) ? '' : new Date(at).toLocaleTimeString(), 'dim'], ...said]);
  const log = $('log');
  log.prepend(item);
  while (log.childElementCount > MAX_SHOWN) log.lastElementChild.remove();
}

function showConnection(text, live) {
  $('connection').textContent = text;
  $('connection').classList.toggle('live', live);
}

let refreshing;
function refresh() {
  refreshing ??= setTimeout(async () => {
    refreshing = undefined;
    try {
      showState(await (await ask('')).json());
    } catch (error) {
      if (error.name !== 'AbortError') showConnection(error.message, false);
    }
  }, REFRESH_MS);
}

/** Reads the stream until it ends. EventSource cannot send a token, so this reads server-sent events itself. */
async function follow() {
  const response = await ask('/stream?words=true', { headers: { 'last-event-id': String(shown) } });
  showConnection('live', true);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split('\n\n');
    rest = frames.pop();
    for (const frame of frames) {
      const lines = frame.split('\n');
      const event = lines.find((each) => each.startsWith('event: '))?.slice(7);
      const data = lines.filter((each) => each.startsWith('data: ')).map((each) => each.slice(6)).join('\n');
      if (data === '') continue;
      const said = JSON.parse(data);
      if (event === 'gap') shown = Math.max(shown, said.next);
      else if (said.envelope) showMessage(said);
      refresh();
    }
  }
}

async function watch() {
  session.abort();
  session = new AbortController();
  const { signal } = session;
  $('fault').textContent = '';
  $('log').replaceChildren();
  shown = 0;
  try {
    const state = await (await ask('')).json();
    shown = Math.max(0, state.next - MAX_SHOWN);
    showState(state);
  } catch (error) {
    $('fault').textContent = error.message;
    return;
  }
  sessionStorage.setItem('synod-token', token);
  history.replaceState(null, '', '?room=' + encodeURIComponent(room));
  $('room').textContent = room;
  $('door').hidden = true;
  document.querySelector('main').hidden = false;
  for (let pause = 500; !signal.aborted; pause = Math.min(pause * 2, 1000)) {
    try {
      await follow();
      pause = 500;
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401 || error.status === 403) {
        sessionStorage.removeItem('synod-token');
        $('door').hidden = false;
        $('fault').textContent = error.message;
        return showConnection('not connected', false);
      }
    }
    showConnection('connecting again', false);
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
  }
}

$('door').addEventListener('submit', (event) => {
  event.preventDefault();
  room = $('room-name').value.trim();
  token = $('token').value.trim();
  void watch();
});
$('room-name').value = room;
setInterval(tick, 1000);
if (room && token) void watch();
`;
