import { describe, expect, it } from 'vitest';
import { mayDo, People } from './list.ts';

const jo = { agent: 'jo', operator: 'operator:jo' };

describe('a list of people', () => {
  it('knows people by the exact id that the chat has for them', () => {
    const people = People.read({ people: { '@jo:example.org': jo } });
    expect(people.of('@jo:example.org')).toEqual(jo);
    for (const other of [
      '@Jo:example.org',
      '@jo:example.org ',
      '@jo:example.or',
      '@jo:example.org.evil',
      'jo',
      '',
      '__proto__',
      'constructor',
    ])
      expect(people.of(other)).toBeUndefined();
  });

  it('lets each do everything, or what is named', () => {
    expect(mayDo(jo, 'release')).toBe(true);
    expect(mayDo({ ...jo, may: ['vote'] }, 'vote')).toBe(true);
    expect(mayDo({ ...jo, may: ['vote'] }, 'release')).toBe(false);
    expect(mayDo({ ...jo, may: [] }, 'post')).toBe(false);
  });

  it('posts as its people and its guests, and as nobody else', () => {
    const people = People.read({ people: { j: jo }, guests: 'visitors' });
    expect(['jo', 'visitors', 'operator:jo', 'ann'].map((agent) => people.postsAs(agent))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(People.read({ people: {} }).postsAs('ann')).toBe(false);
  });

  it.each([
    ['people is missing', {}],
    ['people.j.agent', { people: { j: { agent: 'operator:jo' } } }],
    ['people.j.agent', { people: { j: { agent: 'synod' } } }],
    ['people.j.operator', { people: { j: { agent: 'jo', operator: 'jo' } } }],
    ['people.j.may', { people: { j: { agent: 'jo', may: ['everything'] } } }],
    ['opperator', { people: { j: { agent: 'jo', opperator: 'operator:jo' } } }],
    ['guests', { people: {}, guests: 'operator:all' }],
    ['must be an object', []],
  ])('is refused, naming the field: %s', (field, raw) => {
    expect(() => People.read(raw)).toThrow(field);
  });
});
