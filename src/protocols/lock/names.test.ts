import { describe, expect, it } from 'vitest';
import { startArgs } from '../../envelope/calls.ts';
import { LockDrive } from './lock.fixture.ts';

/** As it comes by the wire: an object literal cannot have the key `__proto__`. */
const permits = '{"__proto__":1,"constructor":2}';
const { config = {} } = startArgs.parse(JSON.parse(`{"room":"lab","config":{"permits":${permits}}}`));

describe('permits of resources that are named as what every object inherits', () => {
  it('are configured at the start and by an operator, kept over runs, and shown', () => {
    const locks = new LockDrive(config);
    expect(JSON.stringify(locks.view('config'))).toBe(`{"permits":${permits}}`);
    locks.restart();
    expect(JSON.stringify(locks.view('config'))).toBe(`{"permits":${permits}}`);
    const raw: unknown = JSON.parse(
      '{"type":"config.set","id":"c","from":"operator:o","ts":"","config":{"permits":{"__proto__":3}}}',
    );
    const [accepted] = locks.host.request([raw], 0).flat();
    expect(JSON.stringify(accepted?.['config'])).toBe('{"permits":{"__proto__":3}}');
    locks.restart();
    expect(JSON.stringify(locks.view('config'))).toBe('{"permits":{"__proto__":3}}');
  });

  it('are as many as configured, with a token each, over runs', () => {
    const locks = new LockDrive(config);
    const [granted] = locks.say('constructor', 'request', {
      resources: ['__proto__', 'constructor'],
      lock_type: 'permit',
    });
    expect(JSON.stringify(granted?.['tokens'])).toBe('{"__proto__":1,"constructor":1}');
    locks.restart();
    const busy = { wait_seconds: 0 };
    expect(locks.ask('bob', 'permit', '__proto__', busy)).toEqual(['denied bob busy']);
    expect(locks.ask('bob', 'permit', 'constructor', busy)).toEqual(['granted bob l-2 constructor:2']);
    expect(locks.ask('cleo', 'permit', 'constructor', busy)).toEqual(['denied cleo busy']);
    expect(locks.of('__proto__').holders).toEqual(['constructor']);
    const [renewed] = locks.at(1).say('constructor', 'renew', { lock_id: 'l-1' });
    expect(renewed).toMatchObject({ type: 'lock.renewed', lease_expires_at: '1970-01-01T00:01:01.000Z' });
    expect(locks.release('constructor', 'l-1')).toEqual(['released l-1']);
    expect(locks.ask('cleo', 'permit', '__proto__', busy)).toEqual(['granted cleo l-3 __proto__:3']);
  });

  it('are none where only every object has such a key', () => {
    const locks = new LockDrive({ permits: { api: 1 } });
    expect(locks.ask('ann', 'permit', 'toString')).toEqual(['error invalid_envelope']);
  });

  it('go to a rollback with their tokens', () => {
    const locks = new LockDrive(config);
    locks.ask('ann', 'permit', '__proto__', { lease_seconds: 1 });
    locks.at(1).restart();
    expect(JSON.stringify(locks.host.effects[0]?.input['tokens'])).toBe('{"__proto__":1}');
  });
});
