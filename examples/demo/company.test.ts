import { describe, expect, it } from 'vitest';
import { Company } from './company.ts';

const never = new AbortController().signal;

function company(): Company {
  const some = new Company(['a', 'b', 'c']);
  some.begins('a', 'x');
  return some;
}

describe('whether an agent is alone with a task', () => {
  it('is known once each other has begun its next, and not before', async () => {
    const some = company();
    some.begins('b', 'y');
    let known: boolean | undefined;
    const alone = some.alone('a', 'x', never).then((answer) => (known = answer));
    some.begins('b', 'z');
    await Promise.resolve();
    // What c does now it may have chosen before it could know of x.
    expect(known).toBeUndefined();
    some.begins('c', 'w');
    expect(await alone).toBe(true);
  });

  it('is denied as soon as another begins it, or has begun it before', async () => {
    const some = company();
    const alone = some.alone('a', 'x', never);
    some.begins('c', 'x');
    expect(await alone).toBe(false);
    expect(await some.alone('a', 'x', never)).toBe(false);
  });

  it('does not wait for who has ended or is kept waiting', async () => {
    const some = company();
    some.rests('b');
    const alone = some.alone('a', 'x', never);
    some.rests('c');
    expect(await alone).toBe(true);
    some.stirs('b');
    expect(await some.alone('a', 'x', AbortSignal.abort())).toBe(false);
  });
});
