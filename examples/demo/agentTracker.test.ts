import { describe, expect, it } from 'vitest';
import { AgentTracker } from './agentTracker.ts';

const never = new AbortController().signal;

function tracker(): AgentTracker {
  const some = new AgentTracker(['a', 'b', 'c']);
  some.started('a', 'x');
  return some;
}

describe('whether an agent is alone with a task', () => {
  it('is known once each other has started its next, and not before', async () => {
    const some = tracker();
    some.started('b', 'y');
    let known: boolean | undefined;
    const alone = some.isAlone('a', 'x', never).then((answer) => (known = answer));
    some.started('b', 'z');
    await Promise.resolve();
    // What c does now it may have chosen before it could know of x.
    expect(known).toBeUndefined();
    some.started('c', 'w');
    expect(await alone).toBe(true);
  });

  it('is false as soon as another starts it, or has started it before', async () => {
    const some = tracker();
    const alone = some.isAlone('a', 'x', never);
    some.started('c', 'x');
    expect(await alone).toBe(false);
    expect(await some.isAlone('a', 'x', never)).toBe(false);
  });

  it('does not wait for an agent that has ended or is paused', async () => {
    const some = tracker();
    some.paused('b');
    const alone = some.isAlone('a', 'x', never);
    some.paused('c');
    expect(await alone).toBe(true);
    some.resumed('b');
    expect(await some.isAlone('a', 'x', AbortSignal.abort())).toBe(false);
  });
});
