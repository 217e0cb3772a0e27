import type { Client } from '@temporalio/client';
import { runLocks } from './lockScenario.ts';
import { retried, say, Wire, type Envelope, type WireOptions } from './wire.ts';

/**
 * A scenario per workflow type, which has every message, deadline and way of answering. Each returns when everything was
 * handled.
 */
export const scenarios = {
  taskLease: runTask,
  taskFailed: runFailingTask,
  coordinatorElection: runElection,
  quorumProposal: runDecision,
  proposalFailed: runFailingDecision,
  barrier: runBarrier,
  lockManager: runLocks,
  room: runRoom,
  chatLedger: runLedger,
  stateStore: runStateStore,
};

async function ask(wire: Wire, message: Envelope): Promise<Envelope[]> {
  return await retried(() => wire.ask(message));
}

async function runTask(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const wire = Wire.task(client, room, 'life', { config: { linger_seconds: 0.5 }, ...options });
  const about = { task_id: 'life' };
  await ask(
    wire,
    say('task.announce', 'producer', {
      ...about,
      title: 'a life',
      claim_seconds: 0.3,
      max_attempts: 5,
    }),
  );
  await wire.until(({ type }) => type === 'task.unclaimed');
  // The only lease that ends: the others outlast the slowest machine, so that each attempt has the number that is named here.
  const claim = say('task.claim', 'one', { ...about, lease_seconds: 1 });
  await ask(wire, claim);
  await ask(wire, claim);
  await ask(wire, say('task.claim', 'two', about));
  await ask(wire, say('task.renew', 'one', { ...about, attempt: 1, lease_seconds: 0.7 }));
  await wire.until(({ type }) => type === 'task.expired');
  await wire.signal(say('task.claim', 'two', about));
  await wire.until(({ type, to }) => type === 'task.ack' && to === 'two');
  await wire.signal({ ...say('task.renew', 'one', { ...about, attempt: 1 }), reply_to: 'nobody-there' });
  await wire.signal({ ...say('task.renew', 'two', { ...about, attempt: 2 }), expires_at: '2020-01-01T00:00:00Z' });
  await ask(wire, say('task.release', 'two', { ...about, attempt: 2 }));
  await ask(wire, say('task.claim', 'three', about));
  await ask(wire, say('task.fail', 'three', { ...about, attempt: 3, reason: 'no luck', retry: true }));
  await ask(wire, say('config.set', 'operator:o', { config: { linger_seconds: 0.2 } }));
  // Enough for the run to hand over where the server suggests it early.
  for (let i = 0; i < 10; i++) await ask(wire, say('task.renew', 'three', { ...about, attempt: 3 }));
  await ask(wire, say('task.claim', 'four', about));
  await ask(wire, say('task.complete', 'four', { ...about, attempt: 4, result: { ok: true } }));
  await wire.result();
  return wire;
}

async function runFailingTask(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const wire = Wire.task(client, room, 'failed', { config: { linger_seconds: 0 }, ...options });
  const about = { task_id: 'failed' };
  await ask(wire, say('task.announce', 'producer', { ...about, title: 'in vain', max_attempts: 1 }));
  await ask(wire, say('task.claim', 'one', about));
  await ask(wire, say('task.fail', 'one', { ...about, attempt: 1, reason: 'broken', retry: false }));
  await wire.result();
  return wire;
}

async function runElection(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const wire = Wire.coordinator(client, room, 'life', options);
  const about = { role: 'life' };
  const join = { ...about, heartbeat_seconds: 0.5 };
  const joined = say('coordinator.join', 'one', join);
  await ask(wire, joined);
  await ask(wire, joined);
  await wire.signal(say('coordinator.join', 'two', join));
  await wire.until(({ type, to }) => type === 'coordinator.joined' && to === 'two');
  for (let i = 0; i < 10; i++) {
    await ask(wire, say('coordinator.heartbeat', 'one', { ...about, epoch: 1 }));
    await ask(wire, say('coordinator.directive', 'one', { ...about, epoch: 1, directive: { step: i } }));
    await ask(wire, say('coordinator.join', 'two', join));
  }
  await ask(wire, say('coordinator.directive', 'two', { ...about, epoch: 1, directive: 'mine' }));
  await wire.signal({ ...say('coordinator.resign', 'one', { ...about, epoch: 1 }), reply_to: 'nobody-there' });
  // On a slow machine an agent that sends nothing is no candidate any more: each joins again before it is waited for.
  await ask(wire, say('coordinator.join', 'two', join));
  await wire.until(({ type, coordinator }) => type === 'coordinator.elected' && coordinator === 'two');
  await wire.signal(say('coordinator.directive', 'one', { ...about, epoch: 1, directive: 'late' }));
  await ask(wire, say('coordinator.join', 'one', join));
  await ask(wire, say('coordinator.leave', 'two', about));
  await ask(wire, say('coordinator.join', 'one', join));
  await wire.until(
    ({ type, coordinator, epoch }) => type === 'coordinator.lost' && coordinator === 'one' && epoch !== 1,
  );
  await ask(wire, say('config.set', 'operator:o', { config: { max_waits: 2 } }));
  await ask(wire, say('coordinator.join', 'three', join));
  await ask(wire, say('coordinator.leave', 'three', about));
  return wire;
}

async function runDecision(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const wire = Wire.proposal(client, room, 'life', { config: { linger_seconds: 0.2 }, ...options });
  const about = { proposal_id: 'life' };
  const voters = ['one', 'two', 'three', 'four'];
  await ask(
    wire,
    say('decision.propose', 'proposer', { ...about, question: 'a life?', voters, quorum: 3, deadline_seconds: 600 }),
  );
  const vote = say('decision.vote', 'one', { ...about, choice: 'yes' });
  await ask(wire, vote);
  await ask(wire, vote);
  await ask(wire, say('decision.vote', 'one', { ...about, choice: 'no' }));
  await wire.signal({ ...say('decision.vote', 'two', { ...about, choice: 'no' }), reply_to: 'nobody-there' });
  await wire.until(({ type, to }) => type === 'decision.voted' && to === 'two');
  await ask(wire, say('decision.vote', 'five', { ...about, choice: 'yes' }));
  // Enough for the run to hand over where the server suggests it early.
  for (let i = 0; i < 10; i++) await ask(wire, say('decision.vote', 'one', { ...about, choice: 'yes' }));
  await ask(wire, say('decision.vote', 'three', { ...about, choice: 'yes' }));
  await wire.signal(say('decision.vote', 'four', { ...about, choice: 'yes', reason: 'why not' }));
  await wire.result();
  return wire;
}

async function runFailingDecision(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const wire = Wire.proposal(client, room, 'failed', { config: { linger_seconds: 0 }, ...options });
  const about = { proposal_id: 'failed' };
  const terms = { question: 'in time?', voters: ['one', 'two'], quorum: 2, deadline_seconds: 0.4 };
  const proposed = say('decision.propose', 'proposer', { ...about, ...terms });
  // Together: by itself the vote may come when all is over.
  await retried(() => wire.request(proposed, say('decision.vote', 'one', { ...about, choice: 'yes' })));
  await wire.result();
  return wire;
}

async function runBarrier(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const wire = Wire.barrier(client, room, 'life', { config: { linger_seconds: 0.2 }, ...options });
  const about = { phase: 'life' };
  const terms = { roster: ['one', 'two'], timeout_seconds: 0.4, fallback: 'escalate', more: true };
  await ask(wire, say('barrier.open', 'opener', { ...about, ...terms }));
  await ask(wire, say('barrier.roster', 'opener', { ...about, roster: ['three', 'four', 'five'] }));
  const checkin = say('barrier.checkin', 'one', { ...about, note: 'ready' });
  await ask(wire, checkin);
  await ask(wire, checkin);
  await wire.until(({ type }) => type === 'barrier.escalated');
  await ask(wire, say('barrier.resolve', 'operator:o', { ...about, action: 'extend', extend_seconds: 0.3 }));
  await ask(wire, say('barrier.leave', 'five', about));
  await wire.signal({ ...say('barrier.checkin', 'two', about), reply_to: 'nobody-there' });
  // Enough for the run to hand over where the server suggests it early.
  for (let i = 0; i < 10; i++) await ask(wire, say('barrier.checkin', 'one', about));
  await ask(wire, say('barrier.checkin', 'six', about));
  await ask(wire, say('barrier.resolve', 'operator:o', { ...about, action: 'extend', extend_seconds: 60 }));
  await ask(wire, say('barrier.checkin', 'three', about));
  await wire.signal(say('barrier.checkin', 'four', about));
  await wire.result();
  return wire;
}

async function runRoom(client: Client, name: string, options: WireOptions = {}): Promise<Wire> {
  const wire = Wire.room(client, `${name}-room`, { config: { retain: 50 }, ...options });
  await ask(wire, say('room.join', 'host', { kind: 'agent', purpose: 'hosts' }));
  const waiting = wire.until(({ type, from }) => type === 'room.post' && from === 'last');
  for (let i = 0; i < 8; i++) await ask(wire, say('room.post', `guest-${i % 3}`, { text: `word ${i}` }));
  await ask(wire, say('room.join', 'host', { kind: 'agent', purpose: 'hosts' }));
  await wire.handle.signal('publish', {
    source: `synod:${name}-room:task:x`,
    events: [
      {
        seq: 1,
        envelope: {
          type: 'task.announce',
          id: 'x-1',
          from: 'p',
          ts: '2020-01-01T00:00:00.000Z',
          task_id: 'x',
          title: 'x',
        },
      },
    ],
    row: { id: 'x', kind: 'task', status: 'completed', since: '2020-01-01T00:00:00.000Z' },
    final: true,
  });
  await wire.signal({ type: 'room.post', id: 'bad', from: 'guest-1', ts: '' });
  await wire.signal(say('room.post', 'last', { text: 'bye' }));
  await waiting;
  return wire;
}

async function runLedger(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const about = { chat: 'matrix:!life' };
  const wire = Wire.ledger(client, room, about.chat, options);
  const take = { ...about, lease_seconds: 0.5, cursor: 2 };
  await ask(wire, say('bridge.take', 'one', take));
  await ask(wire, say('bridge.take', 'two', take));
  for (let i = 0; i < 10; i++) {
    const of = { ...about, epoch: 1, key: `k${i}` };
    const post = { after: 2 + i, part: 0, text: `word ${i}`, last: 3 + i, parts: 1, whole: `w${i}` };
    await ask(wire, say('bridge.send', 'one', { ...of, ...post }));
    await ask(wire, say('bridge.settle', 'one', { ...of, outcome: 'posted', post_id: `$${i}` }));
  }
  await wire.signal(say('bridge.renew', 'one', { ...about, epoch: 1, cursor: 20, heard: 's1' }));
  await ask(wire, say('bridge.release', 'one', { ...about, epoch: 1 }));
  await ask(wire, say('bridge.take', 'two', take));
  await ask(wire, say('bridge.renew', 'one', { ...about, epoch: 1 }));
  await ask(wire, say('config.set', 'operator:o', { config: { max_waits: 2 } }));
  return wire;
}

async function runStateStore(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const about = { namespace: 'life' };
  const wire = Wire.state(client, room, about.namespace, options);
  const put = say('state.put', 'one', { ...about, key: 'a', value: { n: 1 }, if_version: 0 });
  await ask(wire, put);
  await ask(wire, put);
  await ask(wire, say('state.put', 'two', { ...about, key: 'a', value: 2, if_version: 0 }));
  await ask(wire, say('state.put', 'two', { ...about, key: 'b', value: null, ttl_seconds: 0.3 }));
  await wire.until(({ type }) => type === 'state.expired');
  await ask(wire, say('state.lease', 'one', { ...about, key: 'a', lock_id: 'l-1', token: 2 }));
  await wire.signal(say('state.put', 'one', { ...about, key: 'a', value: 3 }));
  for (let i = 0; i < 10; i++) {
    await ask(wire, say('state.put', 'one', { ...about, key: `k${i}`, value: `word ${i}`, ttl_seconds: 3_600 }));
    await ask(wire, say('state.get', 'two', { ...about, keys: ['a', `k${i}`] }));
  }
  const writes = [
    { op: 'put', key: 'a', value: 4, token: 3 },
    { op: 'delete', key: 'k0' },
  ];
  await ask(wire, say('state.txn', 'one', { ...about, checks: [{ key: 'a', version: 1 }], writes }));
  await ask(wire, say('state.list', 'two', { ...about, prefix: 'k', values: true }));
  await wire.signal(say('state.delete', 'two', { ...about, key: 'k1' }));
  await wire.until(({ type, key, deleted }) => type === 'state.changed' && key === 'k1' && deleted === true);
  await ask(wire, say('config.set', 'operator:o', { config: { max_keys: 20 } }));
  return wire;
}
