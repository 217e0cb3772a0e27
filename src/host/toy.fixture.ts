import { z } from 'zod';
import { message } from '../envelope/envelope.ts';
import { text, whole } from '../envelope/fields.ts';
import { refusal } from '../envelope/refusal.ts';
import { rules, type Protocol } from '../protocols/protocol.ts';
import { Host } from './host.ts';

const messages = {
  /** Grows the state. */
  'toy.put': message('toy.put', { item: text }),
  /** Answered, but not logged. */
  'toy.ask': message('toy.ask', {}),
  /** Refused by the protocol. */
  'toy.no': message('toy.no', {}),
  'toy.alarm': message('toy.alarm', { at: whole(0) }),
  'toy.admin': message('toy.admin', {}),
};
type ToyMessage = z.infer<(typeof messages)[keyof typeof messages]>;

const toyState = z.object({ items: z.array(z.string()), alarms: z.array(z.number()) });
export type ToyState = z.infer<typeof toyState>;

/** The least of a protocol: what the host does with it is the host's own doing. */
export const toy: Protocol<ToyState, ToyMessage> = {
  workflowType: 'toy',
  kind: 'locks',
  area: 'toy',
  messages: rules<ToyMessage>(messages, ['toy.admin']),
  config: { retain: whole(1, 1_000) },
  state: toyState,
  urgent: new Set(['toy.rang']),
  initial: () => ({ items: [], alarms: [] }),
  decide(state, input) {
    if (input.kind === 'deadline') {
      const [, ...alarms] = [...state.alarms].sort((a, b) => a - b);
      return { state: { ...state, alarms }, emit: [{ type: 'toy.rang', left: alarms.length }] };
    }
    if (input.kind !== 'message') return { state };
    switch (input.message.type) {
      case 'toy.put':
        return { state: { ...state, items: [...state.items, input.message.item] } };
      case 'toy.alarm':
        return { state: { ...state, alarms: [...state.alarms, input.message.at] } };
      case 'toy.ask':
        return { state, verdict: ['size', state.items.length], quiet: true };
      case 'toy.no':
        return { refuse: refusal('held', 'no') };
      case 'toy.admin':
        return { state, effects: [{ name: 'escalate', input: { why: 'asked' } }] };
    }
  },
  answer: ({ from }, [kind, size]) => (kind === 'size' ? [{ type: 'toy.size', to: from, size: Number(size) }] : []),
  since: (state, { from }, [kind, size]) =>
    kind === 'size' && state.items.length !== size ? [{ type: 'toy.now', to: from, size: state.items.length }] : [],
  nextDeadline: ({ alarms }) => (alarms.length === 0 ? null : { at: Math.min(...alarms), summary: 'an alarm' }),
  view: ({ items }) => ({ size: items.length }),
  details: ({ items }) => `${items.length} items.`,
  row: () => undefined,
  outcome: () => undefined,
  involves: (state, agent) => state.items.includes(agent),
};

export const TOY_ID = 'synod:lab:locks';

export function toyHost(options: { config?: { [key: string]: number }; now?: number } = {}) {
  const { config = {}, now = 0 } = options;
  return new Host(toy, { workflowId: TOY_ID, room: 'lab', config, now });
}
