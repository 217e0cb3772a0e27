import { z } from 'zod';
import { message } from './envelope.ts';
import { utf8Bytes } from './limits.ts';
import { agentId, distinct, name, seconds, text, whole } from './fields.ts';

/** Members that one barrier can wait for. */
export const MAX_ROSTER = 1_024;

const roster = distinct(agentId, 1, MAX_ROSTER);
/** Bytes of the names in one part of a roster; the rest of an envelope has room beside them. */
const MAX_PART_BYTES = 12 * 1024;

/** A roster as the parts in which a barrier is opened: one where it fits into one envelope. */
export function rosterParts(members: readonly string[]): string[][] {
  const parts: string[][] = [[]];
  let bytes = 0;
  for (const member of members) {
    bytes += utf8Bytes(JSON.stringify(member)) + 1;
    if (bytes > MAX_PART_BYTES) {
      parts.push([]);
      bytes = utf8Bytes(JSON.stringify(member)) + 1;
    }
    parts.at(-1)?.push(member);
  }
  return parts;
}

const more = z.boolean().default(false);

/** Messages to a barrier, `synod:{room}:barrier:{phase}`. Durations in seconds. */
export const barrierMessages = {
  /** Opens the phase. With `more`, the rest of the roster comes by `barrier.roster`, from the same sender. */
  'barrier.open': message('barrier.open', {
    phase: name,
    roster,
    timeout_seconds: seconds(),
    fallback: z.enum(['proceed', 'escalate', 'fail'], 'must be proceed, escalate or fail'),
    quorum: whole(1, MAX_ROSTER).optional(),
    more,
  })
    .refine(({ quorum, fallback }) => quorum === undefined || fallback === 'proceed', {
      path: ['quorum'],
      error: 'goes with the fallback "proceed" only',
    })
    .refine((open) => open.quorum === undefined || open.more || open.quorum <= open.roster.length, {
      path: ['quorum'],
      error: 'must be at most the number of the roster',
    }),
  'barrier.roster': message('barrier.roster', { phase: name, roster, more }),
  'barrier.checkin': message('barrier.checkin', { phase: name, note: text.optional() }),
  'barrier.leave': message('barrier.leave', { phase: name }),
  /** For operators. */
  'barrier.resolve': message('barrier.resolve', {
    phase: name,
    action: z.enum(['proceed', 'extend', 'fail'], 'must be proceed, extend or fail'),
    extend_seconds: seconds().optional(),
  }).refine(({ action, extend_seconds: extend }) => extend === undefined || action === 'extend', {
    path: ['extend_seconds'],
    error: 'goes with the action "extend" only',
  }),
};

export type BarrierMessage = z.infer<(typeof barrierMessages)[keyof typeof barrierMessages]>;
export type BarrierOpen = z.infer<(typeof barrierMessages)['barrier.open']>;
