import { describe, expect, it } from 'vitest';
import { codeOf, CONFIGURE, Drive, type Said, type Subject } from './subject.ts';
import { subjects } from './protocols.ts';

const EXPIRED = { expires_at: '2000-01-01T00:00:00Z' };

function opened(of: Subject): Drive {
  return new Drive(of).run(of.script.slice(0, 1));
}

/** Values that are no message, with the field that each must be refused by. */
function malformed(of: Subject): { raw: unknown; field: string }[] {
  const [say = CONFIGURE] = of.messages;
  const good = { id: 'm', ts: '', ...say };
  const { id: _i, ...noId } = good;
  const { from: _f, ...noFrom } = good;
  const { ts: _t, ...noTs } = good;
  return [
    ...[null, 1, 'text', true, [], [good]].map((raw) => ({ raw, field: 'envelope' })),
    ...[{}, { ...good, type: null }, { ...good, type: 5 }, { ...good, type: 'Nope' }].map((raw) => ({
      raw,
      field: 'type',
    })),
    { raw: noId, field: 'id' },
    { raw: noFrom, field: 'from' },
    { raw: noTs, field: 'ts' },
    { raw: { ...good, id: '' }, field: 'id' },
    { raw: { ...good, from: 'a b' }, field: 'from' },
    { raw: { ...good, max_hops: 17 }, field: 'max_hops' },
    { raw: { ...good, expires_at: 'soon' }, field: 'expires_at' },
    { raw: { ...good, reply_to: of.workflowId }, field: 'reply_to' },
    { raw: { ...good, idempotency_key: null }, field: 'idempotency_key' },
  ];
}

it.each(subjects)('the samples of $name have every type', (of) => {
  expect(of.messages.map(({ type }) => type).sort()).toEqual([...of.types].sort());
});

describe.each(subjects)('malformed messages to $name', (of) => {
  it.each(malformed(of))('by update are refused by their $field', ({ raw, field }) => {
    const drive = opened(of);
    const before = drive.standing;
    const [error] = drive.request(raw);
    expect(error).toMatchObject({ type: 'error', from: 'synod', code: 'invalid_envelope' });
    expect(error?.['reason']).toMatch(new RegExp(`^${field} `));
    expect(drive.standing).toBe(before);
  });

  it.each(malformed(of))('by signal change nothing but the log ($field)', ({ raw }) => {
    const drive = opened(of);
    const { state, final } = drive.host.snapshot();
    const head = drive.head;
    drive.host.signal(raw, drive.now);
    expect(drive.host.snapshot()).toMatchObject({ state, ...(final === undefined ? {} : { final }) });
    expect(drive.head).toBeLessThanOrEqual(head + 1);
  });

  it('name an unusable field of each type', () => {
    const drive = opened(of);
    for (const say of of.messages) {
      for (const field of Object.keys(say).filter(
        (key) => !['type', 'input', 'result', 'directive', 'value'].includes(key),
      )) {
        const [error] = drive.request({ ...drive.message(say), [field]: { not: 'this' } });
        expect(error?.['reason']).toMatch(new RegExp(`^${field} `));
      }
    }
  });

  it('of more than 16 KiB are over the limit', () => {
    const drive = opened(of);
    expect(codeOf(drive.request({ ...drive.message(of.storm(0)), ts: 'x'.repeat(16_384) }))).toBe('over_limit');
  });
});

describe.each(subjects)('foreign messages to $name', (of) => {
  it.each(of.foreign)('with %o are refused by that name, and change nothing', (fields) => {
    const drive = opened(of);
    const before = drive.standing;
    const [error] = drive.request({ ...drive.message(of.storm(0)), ...fields });
    expect(error).toMatchObject({ type: 'error', code: 'invalid_envelope' });
    expect(error?.['reason']).toMatch(new RegExp(`^${Object.keys(fields).join()} `));
    expect(drive.standing).toBe(before);
  });

  it('by signal are refused in the log, to their sender', () => {
    const drive = opened(of);
    const after = drive.head;
    drive.host.signal({ ...drive.message(of.storm(0)), ...of.foreign[0] }, drive.now);
    const [event] = drive.read(of.storm(0).from, after).events;
    expect(event?.envelope).toMatchObject({ type: 'error', code: 'invalid_envelope', to: of.storm(0).from });
    expect(drive.read('nobody', after).events).toEqual([]);
  });

  it('may name its own room', () => {
    const drive = opened(of);
    expect(codeOf(drive.request({ ...drive.message(of.storm(0)), room: 'lab' }))).not.toBe('invalid_envelope');
  });
});

describe.each(subjects)('types that $name does not handle', (of) => {
  const types = ['zebra.run', 'error', 'synod.digest', 'synod.reply', `${of.area}.accepted`, `${of.area}.unhandled`];
  it.each([...types, ...subjects.flatMap((other) => (other === of ? [] : other.types))])(
    '%s gets no answer',
    (type) => {
      const drive = opened(of);
      const before = drive.standing;
      expect(drive.request({ type, id: 'm', from: 'ann', ts: '' })).toEqual([]);
      drive.host.signal({ type, id: 'm', from: 'ann', ts: '' }, drive.now);
      expect(drive.standing).toBe(before);
      expect(drive.counter('unhandled')).toBe(2);
    },
  );

  it('gets none even when the rest of it is malformed', () => {
    expect(opened(of).request({ type: 'zebra.run', id: null })).toEqual([]);
  });
});

describe.each(subjects)('senders of $name', (of) => {
  it.each(of.messages)('that call themselves synod are refused: $type', (say) => {
    const drive = opened(of);
    const before = drive.standing;
    const raw = { ...drive.message(say), from: 'synod' };
    expect(codeOf(drive.request(raw))).toBe('unauthorized');
    drive.host.signal(raw, drive.now);
    expect(drive.standing).toBe(before);
  });

  it.each(['config.set', ...of.operatorTypes])('that are no operators may not send %s', (type) => {
    const say: Said = of.messages.find((message) => message.type === type) ?? CONFIGURE;
    for (const from of ['ann', 'operator', 'operators:jo', 'Operator:jo']) {
      const drive = opened(of);
      const before = drive.standing;
      expect(codeOf(drive.request({ ...drive.message(say), from }))).toBe('unauthorized');
      expect(drive.standing).toBe(before);
    }
  });

  it('that are operators may set the configuration, which merges by key', () => {
    const drive = opened(of);
    expect(codeOf(drive.request(drive.message(CONFIGURE)))).toBe('config.accepted');
    const more: Said = { ...CONFIGURE, config: { nonsense: 1 } };
    drive.request(drive.message(more));
    expect(drive.host.view(undefined, drive.now)).toMatchObject({
      config: { max_waits: 3 },
      config_ignored: ['nonsense'],
    });
    drive.request(drive.message({ ...CONFIGURE, config: { max_waits: null } }));
    expect(drive.host.view(undefined, drive.now)['config']).toEqual({});
  });
});

describe.each(subjects)('the order of checks of $name', (of) => {
  const [foreign = {}] = of.foreign;

  it('is: shape before role', () => {
    const drive = opened(of);
    expect(codeOf(drive.request({ ...drive.message(CONFIGURE), from: 'ann', config: null }))).toBe('invalid_envelope');
    expect(codeOf(drive.request({ ...drive.message(of.storm(0)), from: 'synod', ts: null }))).toBe('invalid_envelope');
  });

  it('is: role before repeat', () => {
    const drive = opened(of);
    const raw = drive.message(of.storm(0));
    drive.request(raw);
    expect(codeOf(drive.request({ ...raw, type: 'config.set', config: {} }))).toBe('unauthorized');
  });

  it('is: repeat before hops', () => {
    const drive = opened(of);
    const raw = drive.message(of.storm(0));
    const first = drive.request(raw);
    expect(drive.request({ ...raw, max_hops: 0 }).slice(0, first.length)).toEqual(first);
    const other = {
      ...drive.message(of.storm(1)),
      from: raw.from,
      idempotency_key: raw.idempotency_key,
    };
    expect(codeOf(drive.request({ ...other, max_hops: 0 }))).toBe('idempotency_conflict');
  });

  it('is: hops before expiry, and what has none left is only counted', () => {
    const drive = opened(of);
    const before = drive.standing;
    expect(drive.request({ ...drive.message(of.storm(0)), max_hops: 0, ...EXPIRED })).toEqual([]);
    expect(drive.request({ ...drive.message(of.storm(0)), max_hops: 0 })).toEqual([]);
    drive.host.signal({ ...drive.message(of.storm(0)), max_hops: 0 }, drive.now);
    expect(drive.standing).toBe(before);
    expect(drive.counter('hops_exhausted')).toBe(3);
    expect(drive.request({ ...drive.message(of.storm(0)), max_hops: 1 })).not.toEqual([]);
  });

  it('is: expiry before address', () => {
    const drive = opened(of);
    expect(codeOf(drive.request({ ...drive.message(of.storm(0)), ...EXPIRED, ...foreign }))).toBe('expired');
  });

  it('is: address before protocol', () => {
    const drive = opened(of);
    const say = of.refused?.say ?? of.storm(0);
    const right = codeOf(opened(of).request(drive.message(say)));
    expect(right).not.toBe('invalid_envelope');
    expect(codeOf(drive.request({ ...drive.message(say), ...foreign }))).toBe('invalid_envelope');
  });
});

describe.each(subjects.filter(({ completes }) => completes))('$name, not opened by its first request', (of) => {
  const [first] = of.script;
  const opening = first && 'say' in first ? first.say : CONFIGURE;
  const spoilers: { what: string; raw: (drive: Drive) => unknown }[] = [
    { what: 'another message', raw: (drive) => drive.message(of.storm(0)) },
    { what: 'nonsense', raw: () => null },
    { what: 'an expired opening', raw: (drive) => drive.message(opening, EXPIRED) },
    { what: 'a foreign opening', raw: (drive) => drive.message(opening, of.foreign[0]) },
    { what: 'a malformed opening', raw: (drive) => drive.message(opening, { ts: null }) },
    { what: 'a configuration', raw: (drive) => drive.message(CONFIGURE) },
  ];

  it.each(spoilers)('but by $what, answers closed and fails after 60 s', ({ raw }) => {
    const drive = new Drive(of);
    drive.request(raw(drive));
    expect(codeOf(drive.request(drive.message(opening)))).toBe('closed');
    drive.restart();
    expect(codeOf(drive.request(drive.message(of.storm(0))))).toBe('closed');
    expect(drive.host.nextDeadline()?.at).toBe(drive.now + 60_000);
    expect(drive.host.phase(drive.now + 59_999)).toBe('running');
    expect(drive.host.phase(drive.now + 60_000)).toBe('unopened');
    expect(drive.host.result).toBeUndefined();
  });

  it('publishes nothing to the room, so that the next of its name starts anew', () => {
    const drive = new Drive(of);
    drive.host.signal(drive.message(of.storm(0)), drive.now);
    expect(drive.host.mirror.pending).toBe(0);
  });

  it('lets the first opening count where it comes before anything else in one request', () => {
    const drive = new Drive(of);
    const [replies] = drive.host.request([drive.message(opening), drive.message(of.storm(0))], drive.now);
    expect(codeOf(replies ?? [])).toBe(first && 'answer' in first ? first.answer : '');
  });

  it('refuses a second opening as a conflict', () => {
    const drive = opened(of);
    expect(codeOf(drive.request(drive.message({ ...opening, from: 'zoe' })))).toBe('idempotency_conflict');
    expect(codeOf(drive.request(drive.message(opening)))).toBe('idempotency_conflict');
  });
});
