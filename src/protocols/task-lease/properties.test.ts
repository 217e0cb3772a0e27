import fc from 'fast-check';
import { describe } from 'vitest';
import type { TaskMessage } from '../../envelope/task.ts';
import { Host } from '../../host/host.ts';
import { deadline, keepsEveryProperty, noticesBroken, pass, repeat } from '../properties.fixture.ts';
import type { Protocol } from '../protocol.ts';
import { brokenProtocols } from './broken.fixture.ts';
import { taskLease } from './protocol.ts';
import type { TaskState } from './state.ts';
import { NOTHING_SEEN, observe, type Property } from './observer.fixture.ts';

/** What happens next: a message, an earlier message again, or time passes. */
type Move =
  | { do: 'say'; from: string; verb: string; attempt: number; lease: number | null }
  | { do: 'repeat'; nth: number }
  | { do: 'pass'; ms: number }
  | { do: 'deadline'; offset: number };

const say = fc.record({
  do: fc.constant('say' as const),
  from: fc.constantFrom('ann', 'bob', 'cleo'),
  verb: fc.oneof(
    { weight: 3, arbitrary: fc.constant('claim') },
    fc.constantFrom('renew', 'complete', 'fail', 'release', 'cancel'),
  ),
  // Relative to the attempt that stands: mostly that one.
  attempt: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 1 })),
  lease: fc.option(fc.integer({ min: 1, max: 40 })),
});
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 6, arbitrary: say },
  { weight: 2, arbitrary: repeat },
  { weight: 1, arbitrary: pass(60) },
  { weight: 2, arbitrary: deadline },
);
const schedule = fc.record({
  max_attempts: fc.integer({ min: 1, max: 4 }),
  expires: fc.option(fc.integer({ min: 1, max: 300 })),
  moves: fc.array(move, { maxLength: 40 }),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;

/** The properties that a schedule breaks. */
function broken(protocol: Protocol<TaskState, TaskMessage>, { max_attempts, expires, moves }: Schedule): Set<Property> {
  const found = new Set<Property>();
  const host = new Host(protocol, { workflowId: 'synod:lab:task:t', room: 'lab', config: {}, now: 0 });
  const sent: { [field: string]: unknown }[] = [];
  let seen = NOTHING_SEEN;
  let cursor = 0;
  let now = 0;

  function follow(): void {
    host.receive({ agents: ['*'], after: cursor, wait_seconds: 0, limit: 200 }, now, ({ events, next }) => {
      for (const { envelope } of events) {
        const [after, names] = observe(seen, envelope, now);
        seen = after;
        for (const name of names) found.add(name);
      }
      cursor = next;
    });
  }

  /** Lets the timers fire that are due: none is due afterwards. */
  function tick(): void {
    host.tick(now);
    follow();
    const next = host.nextDeadline();
    if (next && next.at <= now && host.phase(now) === 'running') found.add('every deadline progresses');
  }

  function send(raw: { [field: string]: unknown }): void {
    tick();
    const replies = host.request([raw], now).flat();
    follow();
    for (const reply of replies.filter(({ type }) => type === 'task.renewed')) {
      const [after, names] = observe(seen, reply, now, { from: String(raw['from']) });
      seen = after;
      for (const name of names) found.add(name);
    }
    // What was handed back is held by nobody.
    const released = replies.some(({ type, from }) => type === 'task.announce' && from === 'synod');
    if (released && host.view(undefined, now)['status'] === 'held') found.add('nothing acknowledged is lost');
  }

  function standing(): string {
    const { state, log, final } = host.snapshot();
    return JSON.stringify({ state, log, final });
  }

  function again(raw: { [field: string]: unknown }): void {
    tick();
    const before = standing();
    host.request([{ ...raw, ts: 'again' }], now);
    if (standing() !== before) found.add('a repeat changes nothing');
  }

  const expiresAt = expires === null ? {} : { expires_at: new Date(expires).toISOString() };
  const announce = {
    type: 'task.announce',
    from: 'ann',
    task_id: 't',
    title: 'x',
    max_attempts,
    claim_seconds: 0.02,
    lease_seconds: 0.04,
  };
  send({ id: 'm', ts: '', ...announce, ...expiresAt });
  for (const each of moves) {
    if (each.do === 'pass') now += each.ms;
    else if (each.do === 'deadline') now = Math.max(now, (host.nextDeadline()?.at ?? now) + each.offset);
    else if (each.do === 'repeat') {
      const raw = sent[each.nth % Math.max(1, sent.length)];
      if (raw) again(raw);
    } else {
      const standingAttempt = Number(host.view(undefined, now)['attempt']);
      const needed = { attempt: Math.max(1, standingAttempt + each.attempt), reason: 'so' };
      const lease =
        each.lease === null || !['claim', 'renew'].includes(each.verb) ? {} : { lease_seconds: each.lease / 1000 };
      const raw = {
        id: `m${sent.length}`,
        ts: '',
        type: `task.${each.verb}`,
        from: each.from,
        task_id: 't',
        ...needed,
        ...lease,
      };
      sent.push(raw);
      send(raw);
    }
  }
  return found;
}

const course = { sound: taskLease, schedule, broken };

describe('the task lease', () => {
  keepsEveryProperty(course, { numRuns: 2_000 });
});

describe('the properties can fail', () => {
  noticesBroken(course, brokenProtocols);
});
