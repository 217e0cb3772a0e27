import { describe, expect, it } from 'vitest';
import { maskSecrets } from './mask.ts';

/** Put together here, so that no scanner takes this file for a leak. */
const of = (...parts: string[]): string => parts.join('');

describe('masking of secrets', () => {
  it.each([
    ['a model key', of('sk-', 'proj-', 'a1B2c3D4e5F6g7H8i9J0')],
    ['a payment key', of('sk_live_', '4eC39HqLyjWDarjtT1zdp7dc')],
    ['a GitHub token', of('ghp_', '16C7e42F292c6912E7710c838347Ae178B4a')],
    ['a GitLab token', of('glpat-', 'Zk3x7Yw9Qa1Bv5Nn8Mm2')],
    ['a Slack token', of('xoxb-', '123456789012-abcdefABCDEF')],
    ['a Matrix token', of('syt_', 'c3lub2Q_aBcDeFgHiJkLmNoPqRsT_1a2b3c')],
    ['an Amazon key', of('AKIA', 'IOSFODNN7EXAMPLE')],
    ['a Google key', of('AIza', 'SyA1234567890abcdefghijklmnopqrstuv')],
    ['a web token', of('eyJ', 'hbGciOiJIUzI1NiJ9', '.eyJzdWIiOiIxMjM0In0', '.dozjgNryP4J3jVmNHl0w5N')],
    ['a webhook', of('https://hooks.slack.com', '/services/T000/B000/XXXXXXXX')],
    ['a private key', of('-----BEGIN RSA PRIVATE KEY-----\nMIIE', 'pAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----')],
  ])('hides %s and nothing around it', (_, secret) => {
    expect(maskSecrets(`before ${secret} after`)).toBe('before [masked] after');
  });

  it.each([
    ['postgres://app:hunter2@db.example.org/x', 'postgres://app:[masked]@db.example.org/x'],
    ['https://ann:p@ss:w0rd@example.org', 'https://ann:[masked]@example.org'],
    ['https://0123456789abcdef0123@example.org/r.git', 'https://[masked]@example.org/r.git'],
    ['redis://:only-a-password@127.0.0.1:6379', 'redis://:[masked]@127.0.0.1:6379'],
    ['Authorization: Bearer abc.def-123', 'Authorization: Bearer [masked]'],
    ['use bearer 0a1b2c3d4e now', 'use bearer [masked] now'],
    ["-H 'authorization: Basic YW5uOnNlY3JldA=='", "-H 'authorization: Basic [masked]'"],
    ['DB_PASSWORD=correcthorse', 'DB_PASSWORD=[masked]'],
    ['{"api_key": "q1w2e3r4t5"}', '{"api_key": "[masked]"}'],
    ['client_secret = "abc123def"', 'client_secret = "[masked]"'],
  ])('hides what stands where a secret stands: %s', (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });

  it.each([
    'http://127.0.0.1:8080/metrics?x=1@2',
    'mail ann@example.org',
    'agent-1 has t-1, token 3, until 03:04:05',
    'the bearer of good news',
    'see https://example.org/a:b/c',
    'a task-list of skills, a risk-averse plan',
    'password reset is done',
  ])('leaves alone what is none: %s', (text) => {
    expect(maskSecrets(text)).toBe(text);
  });

  it.each(['a-', 'token', 'a:', '-----BEGIN PRIVATE KEY-----', 'http://a:', 'eyJ', ' bearer '])(
    'takes for eight times as much of %s about eight times as long',
    (unit) => {
      const fastest = (length: number, before: number) => {
        const text = unit.repeat(Math.ceil(length / unit.length));
        const started = performance.now();
        maskSecrets(text);
        return Math.min(before, performance.now() - started);
      };
      let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      // What else the machine does only makes it slower. Where the time grows with the square it is 64 times as long.
      for (let round = 0; round < 10 || (long / short >= 32 && round < 300); round++)
        [short, long] = [fastest(2_000, short), fastest(16_000, long)];
      expect(long / short).toBeLessThan(32);
    },
  );
});
