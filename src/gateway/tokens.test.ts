import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Problem } from './errors.ts';
import { Rates } from './rates.ts';
import { editTokens, TokenFile } from './tokenStore.ts';
import { issue, match, maySpeakFor, mayUseRoom } from './tokens.ts';

const quiet = () => undefined;

describe('a token', () => {
  const { token, stored } = issue({ agent: 'ann', rooms: ['lab'] });
  const known = new Map([[stored.id, stored]]);

  it('is known by its hash alone', () => {
    expect(JSON.stringify(stored)).not.toContain(token.slice('synod_'.length + stored.id.length + 1));
    expect(match(token, known)).toBe(stored);
  });

  it.each([
    ['another of the same id', () => `synod_${stored.id}_${'A'.repeat(43)}`],
    ['its hash', () => stored.hash],
    ['one letter more', () => `${token}x`],
    ['one letter less', () => token.slice(0, -1)],
    ['another id', () => token.replace(stored.id, '000000000000')],
    ['nothing', () => ''],
  ])('is not %s', (_, other) => {
    expect(match(other(), known)).toBeUndefined();
  });

  it('is for its rooms', () => {
    expect(mayUseRoom(stored, 'lab')).toBe(true);
    expect(mayUseRoom(stored, 'lab2')).toBe(false);
    expect(mayUseRoom(issue({ agent: 'ann', rooms: ['*'] }).stored, 'lab2')).toBe(true);
  });

  it.each([
    [{}, { ann: true, bob: false, 'operator:ann': false, synod: false }],
    [{ operator: true }, { ann: true, bob: false, 'operator:ann': true, 'operator:bob': false, synod: false }],
    [{ hub: true }, { ann: true, bob: true, 'operator:ann': false, synod: false }],
    [
      { hub: true, operator: true },
      { bob: true, 'operator:bob': true, synod: false },
    ],
  ])('with %j speaks for %j', (rights, expected) => {
    const { stored: one } = issue({ agent: 'ann', rooms: ['lab'], ...rights });
    for (const [from, may] of Object.entries(expected)) expect([from, maySpeakFor(one, from)]).toEqual([from, may]);
  });

  it.each([
    { agent: 'synod', rooms: ['lab'] },
    { agent: 'operator:ann', rooms: ['lab'] },
    { agent: 'a b', rooms: ['lab'] },
    { agent: 'ann', rooms: [] },
    { agent: 'ann', rooms: ['a/b'] },
    { agent: 'ann', rooms: ['lab'], rate: -1 },
  ])('is not issued for %j', (rights) => {
    expect(() => issue(rights)).toThrow(/agent|rooms|rate/);
  });
});

describe('a file of tokens', () => {
  let folder: string;
  let path: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'synod-tokens-'));
    path = join(folder, 'tokens.json');
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  it('is followed as it changes, and kept as it was while it is malformed', async () => {
    const first = issue({ agent: 'ann', rooms: ['lab'] });
    await editTokens(path, () => [first.stored]);
    const said: string[] = [];
    const file = await TokenFile.open(path, (line) => said.push(line));
    expect((await file.find(first.token))?.agent).toBe('ann');
    const second = issue({ agent: 'bob', rooms: ['lab'] });
    await editTokens(path, (known) => [...known, second.stored]);
    await expect.poll(async () => (await file.find(second.token))?.agent).toBe('bob');
    const whole = await readFile(path, 'utf8');
    await writeFile(path, whole.slice(0, 20));
    await expect
      .poll(async () => {
        await file.find(first.token);
        return said.length;
      })
      .toBeGreaterThan(0);
    expect((await file.find(second.token))?.agent).toBe('bob');
    await writeFile(path, JSON.stringify({ tokens: [second.stored] }));
    await expect.poll(async () => await file.holds(first.stored)).toBe(false);
    expect(await file.holds(second.stored)).toBe(true);
  });

  it.each([
    ['{', 'is not JSON'],
    ['{"tokens":[{"id":"x"}]}', 'tokens[0].id must be 12 hexadecimal digits'],
    ['[]', 'must be an object'],
  ])('that holds %s is refused', async (text, why) => {
    await writeFile(path, text);
    await expect(TokenFile.open(path, quiet)).rejects.toThrow(why);
  });
});

it('knows a new token for all who ask while the file is read again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'synod-tokens-'));
  const path = join(folder, 'tokens.json');
  await editTokens(path, (known) => known);
  const file = await TokenFile.open(path, quiet);
  const { token, stored } = issue({ agent: 'ann', rooms: ['lab'] });
  await editTokens(path, () => [stored]);
  const found = await Promise.all([file.find(token), file.find(token), file.holds(stored)]);
  expect(found).toEqual([stored, stored, true]);
  await rm(folder, { recursive: true });
});

it('says that there is no file of tokens only where there is none', async () => {
  await expect(TokenFile.open(join(tmpdir(), 'synod-none', 'tokens.json'), quiet)).rejects.toThrow(
    'there is no file of tokens',
  );
  await expect(TokenFile.open(tmpdir(), quiet)).rejects.toThrow('cannot be read: EISDIR');
});

describe('the rate of a token', () => {
  it('is limited, with the seconds to wait, and each has its own', async () => {
    const rates = new Rates();
    const { stored } = issue({ agent: 'ann', rooms: ['lab'], rate: 0.3 });
    const other = issue({ agent: 'ann', rooms: ['lab'], rate: 0.3 }).stored;
    for (let i = 0; i < 3; i++) await rates.take(stored);
    const refused: unknown = await rates.take(stored).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Problem);
    const { status, headers } = refused as Problem;
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(10);
    await rates.take(other);
  });

  it('has none for a hub, or where it is 0', async () => {
    const rates = new Rates();
    for (const rights of [{ hub: true }, { rate: 0 }]) {
      const { stored } = issue({ agent: 'ann', rooms: ['lab'], ...rights });
      for (let i = 0; i < 500; i++) await rates.take(stored);
    }
    const { stored } = issue({ agent: 'ann', rooms: ['lab'], hub: true, rate: 0.1 });
    await rates.take(stored);
    await expect(rates.take(stored)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('counts what is open at once, until it is released', () => {
    const rates = new Rates(2);
    const { stored } = issue({ agent: 'ann', rooms: ['lab'] });
    const [first] = [rates.hold(stored), rates.hold(stored)];
    expect(() => rates.hold(stored)).toThrow('2 requests and streams open');
    first();
    first();
    rates.hold(stored);
    expect(() => rates.hold(stored)).toThrow('2 requests and streams open');
  });
});
