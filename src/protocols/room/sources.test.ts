import { describe, expect, it } from 'vitest';
import { room } from './protocol.ts';
import type { Publication } from '../../envelope/room.ts';

const context = {
  now: 1_000,
  room: 'lab',
  workflowId: 'synod:lab:room',
  config: {},
  revision: 2,
  decided: () => false,
};
const source = 'synod:lab:task:t-1';

function publication(life: number | undefined, seq: number): Publication {
  const envelope = { type: 'task.announce', id: `m${seq}`, from: 'producer', ts: '' };
  return { source, ...(life === undefined ? {} : { life }), events: [{ seq, envelope }] };
}

/** The sequence numbers that come through of publications, one after the other. */
function through(...publications: Publication[]): unknown[] {
  let state = room.initial();
  return publications.map((one) => {
    const decision = room.decide(state, { kind: 'publish', publication: one }, context);
    if ('refuse' in decision) return decision.refuse;
    state = decision.state;
    return decision.relay?.map((envelope) => envelope['source_seq']);
  });
}

describe('a source whose name is taken anew', () => {
  it('is logged from its first entry on', () => {
    expect(through(publication(5, 1), publication(5, 2), publication(9, 1), publication(9, 2))).toEqual([
      [1],
      [2],
      [1],
      [2],
    ]);
  });

  it('is still logged once, and what the earlier one repeats is not logged again', () => {
    expect(through(publication(5, 1), publication(9, 1), publication(9, 1), publication(5, 1))).toEqual([
      [1],
      [1],
      [],
      [],
    ]);
  });

  it('is known by its numbers alone where it does not state when it was started', () => {
    expect(through(publication(undefined, 1), publication(undefined, 1), publication(undefined, 2))).toEqual([
      [1],
      [],
      [2],
    ]);
  });
});
