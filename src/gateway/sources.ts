import type { AddressKind } from '../envelope/address.ts';
import { name } from '../envelope/fields.ts';
import {
  barrierTarget,
  coordinatorTarget,
  locksTarget,
  proposalTarget,
  roomTarget,
  stateTarget,
  taskTarget,
} from '../envelope/targets.ts';
import type { Target } from '../envelope/address.ts';
import { explain, parseErrors } from '../envelope/refusal.ts';
import { parseShard } from '../envelope/shards.ts';
import { Problem } from './errors.ts';

/** A bridge's ledger is nobody's but its own. */
type Kind = Exclude<AddressKind, 'bridge'>;

/** How each primitive of a room is named in a query: `room`, `locks`, or a kind and a name, such as `task:t-1`. */
const KINDS: Readonly<Record<Kind, (room: string, name: string) => Target>> = {
  room: roomTarget,
  locks: (room, shard) => locksTarget(room, parseShard(shard)),
  task: taskTarget,
  coordinator: coordinatorTarget,
  proposal: proposalTarget,
  barrier: barrierTarget,
  state: stateTarget,
};
/** Of these a room has one. */
const SINGLE = new Set<string>(['room', 'locks']);

function isKind(value: string): value is Kind {
  return Object.hasOwn(KINDS, value);
}

/** The workflow that a `source` names. @throws Problem `invalid_envelope`. */
export function sourceTarget(room: string, source: string): Target {
  const at = source.indexOf(':');
  const kind = at < 0 ? source : source.slice(0, at);
  const rest = at < 0 ? '' : source.slice(at + 1);
  const shard = kind === 'locks' && parseShard(rest) !== undefined;
  if (!isKind(kind) || (SINGLE.has(kind) && !shard ? at >= 0 : rest === ''))
    throw new Problem(
      'invalid_envelope',
      'source must be room, locks, locks:SHARD, task:NAME, coordinator:ROLE, proposal:NAME, barrier:PHASE or state:NAMESPACE',
    );
  const parsed = name.safeParse(rest === '' ? kind : rest, parseErrors);
  if (!parsed.success) throw new Problem('invalid_envelope', explain(parsed.error, 'source'));
  return KINDS[kind](room, rest);
}

const NAME_IN_ID = /^(?:[A-Za-z0-9._-]|%[0-9A-F]{2}){1,150}$|^~[0-9a-f]{64}$/;

/** The room of a workflow id of Synod's; undefined for any other. */
export function roomOf(workflowId: string): string | undefined {
  const [prefix, room, kind, ...names] = workflowId.split(':');
  if (prefix !== 'synod' || room === undefined || kind === undefined || !isKind(kind)) return undefined;
  const fits = kind === 'room' ? names.length === 0 : kind === 'locks' ? names.length <= 1 : names.length === 1;
  return fits && names.every((one) => NAME_IN_ID.test(one)) ? room : undefined;
}

/** The workflow with this id, as its kind is opened. @throws Problem `invalid_envelope` where it is none of the room's. */
export function targetAt(room: string, workflowId: string, config?: Target['config']): Target {
  const kind = workflowId.split(':')[2] ?? '';
  if (roomOf(workflowId) !== room || !isKind(kind))
    throw new Problem('invalid_envelope', `workflow_id names no primitive of room ${room}`);
  return { ...KINDS[kind](room, ''), workflowId, config };
}
