import { describe, expect, it } from 'vitest';
import { resolveServer } from './connect.ts';

// A home without configuration files: the test must not read those of whoever runs it.
const HOME = { HOME: '/nonexistent', XDG_CONFIG_HOME: '/nonexistent' };

describe('resolveServer', () => {
  it('is undefined when nothing asks for a server', () => {
    expect(resolveServer({ ...HOME })).toBeUndefined();
    expect(resolveServer({ ...HOME, TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: 'mine' })).toBeUndefined();
  });

  it('takes address, namespace and API key, which turns TLS on', () => {
    const env = {
      ...HOME,
      TEMPORAL_ADDRESS: 'temporal.example:7233',
      TEMPORAL_NAMESPACE: 'mine',
      TEMPORAL_API_KEY: 'key',
    };
    expect(resolveServer(env)).toMatchObject({
      address: 'temporal.example:7233',
      namespace: 'mine',
      connectionOptions: { address: 'temporal.example:7233', apiKey: 'key', tls: true },
    });
  });

  it('uses the namespace "default" when none is set', () => {
    expect(resolveServer({ ...HOME, TEMPORAL_ADDRESS: 'localhost:7233' })?.namespace).toBe('default');
  });

  it('refuses variables that name no server', () => {
    expect(() => resolveServer({ ...HOME, TEMPORAL_API_KEY: 'key' })).toThrow('set TEMPORAL_ADDRESS');
  });

  it('refuses a profile that does not exist', () => {
    expect(() => resolveServer({ ...HOME, TEMPORAL_PROFILE: 'nope' })).toThrow('nope');
  });
});
