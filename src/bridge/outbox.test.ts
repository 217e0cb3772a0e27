import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Outbox, type OutboxOptions } from './outbox.ts';

const EACH = 5_000;

function outbox(options: Partial<OutboxOptions> = {}, after = 0): Outbox {
  return new Outbox(after, { intervalMs: EACH, capacity: 1_000, fits: (text) => text.length <= 200, ...options });
}
function say(box: Outbox, seq: number, from: string, text: string): void {
  box.add({ seq, envelope: { type: 'room.post', id: `m${seq}`, from, ts: '', text } });
}
function hidden(box: Outbox, seq: number): void {
  box.add({ seq, envelope: { type: 'room.accepted', id: `m${seq}`, from: 'synod', ts: '', to: 'ann' } });
}
/** What is posted at a time; the pause where nothing is yet. */
function at(box: Outbox, now: number): string | number | undefined {
  const next = box.next(now);
  if (next.kind === 'post') box.posted(next.agents, now);
  return next.kind === 'post' ? next.text : next.kind === 'wait' ? next.ms : undefined;
}

describe('the entries that wait to be posted', () => {
  it('is posted at once where its agent has been quiet', () => {
    const box = outbox();
    expect(at(box, 0)).toBeUndefined();
    say(box, 1, 'ann', 'one');
    expect(at(box, 0)).toBe('ann: one');
    say(box, 2, 'bob', 'two');
    expect(at(box, 1)).toBe('bob: two');
    expect(at(box, 2)).toBeUndefined();
  });

  it('is joined where an agent sends more than one message in five seconds, and nothing is dropped', () => {
    const box = outbox();
    say(box, 1, 'ann', 'one');
    at(box, 0);
    say(box, 2, 'ann', 'two');
    expect(at(box, 100)).toBe(EACH - 100);
    say(box, 3, 'ann', 'three');
    expect(at(box, EACH - 1)).toBe(1);
    expect(at(box, EACH)).toBe('ann: two\nann: three');
  });

  it('keeps the order: what others send meanwhile goes into the same post', () => {
    const box = outbox();
    say(box, 1, 'ann', 'one');
    at(box, 0);
    say(box, 2, 'ann', 'two');
    say(box, 3, 'bob', 'three');
    expect(at(box, 1)).toBe(EACH - 1);
    expect(at(box, EACH)).toBe('ann: two\nbob: three');
  });

  it('goes into one post as far as it fits', () => {
    const box = outbox({ fits: (text) => text.length <= 20 });
    for (const [i, word] of ['one', 'two', 'three'].entries()) say(box, i + 1, 'ann', word);
    expect(at(box, 0)).toBe('ann: one\nann: two');
    expect(at(box, EACH)).toBe('ann: three');
    say(box, 4, 'bob', 'x'.repeat(50));
    expect(at(box, 2 * EACH)).toBe(`bob: ${'x'.repeat(50)}`);
  });

  it('is posted entry by entry where joining is off', () => {
    const box = outbox({ intervalMs: 0 });
    say(box, 1, 'ann', 'one');
    say(box, 2, 'ann', 'two');
    expect([at(box, 0), at(box, 0), at(box, 0)]).toEqual(['ann: one', 'ann: two', undefined]);
  });

  it('names the last entry of each post, past those that are not for people', () => {
    const box = outbox();
    hidden(box, 1);
    say(box, 2, 'ann', 'one');
    hidden(box, 3);
    say(box, 4, 'bob', 'two');
    hidden(box, 5);
    expect(box.next(0)).toMatchObject({ last: 4, agents: ['ann', 'bob'] });
    expect(box.seen).toBe(5);
    expect(box.size).toBe(0);
  });

  it('posts a line for what the room has not kept, and for a log that begins anew', () => {
    const box = outbox({}, 3);
    say(box, 10, 'ann', 'one');
    expect(at(box, 0)).toBe('… 6 entries are left out here: the chat fell behind.\nann: one');
    say(box, 1, 'ann', 'two');
    expect(at(box, EACH)).toBe('The log of this room begins anew.\nann: two');
  });

  it('leaves out the oldest past its capacity, and posts how many', () => {
    const box = outbox({ capacity: 3 });
    for (let seq = 1; seq <= 10; seq++) say(box, seq, `w${seq}`, 'x');
    expect(box.size).toBe(3);
    expect(at(box, 0)).toBe('… 8 entries are left out here: the chat fell behind.\nw9: x\nw10: x');
  });

  it('does not take back what was given to be posted, however much comes meanwhile', () => {
    const box = outbox({ capacity: 2 });
    say(box, 1, 'ann', 'one');
    const next = box.next(0);
    for (let seq = 2; seq <= 9; seq++) say(box, seq, 'bob', `${seq}`);
    expect(next).toMatchObject({ text: 'ann: one', last: 1 });
    expect(at(box, 1)).toBe('… 7 entries are left out here: the chat fell behind.\nbob: 9');
  });

  it('posts every entry once and in order, and no agent twice in five seconds, whatever comes when', () => {
    const speech = fc.record({ agent: fc.constantFrom('a', 'b', 'c'), gap: fc.nat(3_000), length: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(speech, { maxLength: 40 }), (speeches) => {
        const box = outbox();
        const posts: { at: number; text: string; agents: readonly string[] }[] = [];
        let now = 0;
        const settle = (until: number): void => {
          for (;;) {
            const next = box.next(now);
            if (next.kind === 'post') {
              posts.push({ at: now, text: next.text, agents: next.agents });
              box.posted(next.agents, now);
            } else if (next.kind === 'empty' || now + next.ms > until) break;
            else now += next.ms;
          }
          now = Math.max(now, until);
        };
        for (const [i, { agent, gap, length }] of speeches.entries()) {
          settle(now + gap);
          say(box, i + 1, agent, `#${i}# ${'x'.repeat(length)}`);
        }
        settle(now + 60 * EACH);
        const numbers = posts.flatMap(({ text }) => [...text.matchAll(/#(\d+)#/g)].map(([, n]) => Number(n)));
        expect(numbers).toEqual(speeches.map((_, i) => i));
        const tooSoon = posts.flatMap(({ at: when, agents }, i) =>
          posts.slice(0, i).filter((one) => when - one.at < EACH && one.agents.some((agent) => agents.includes(agent))),
        );
        expect(tooSoon).toEqual([]);
      }),
    );
  });
});
