import type { z } from 'zod';
import { barrierMessages } from './barrier.ts';
import { configSet } from './calls.ts';
import { coordinatorMessages } from './coordinator.ts';
import { decisionMessages } from './decision.ts';
import { lockMessages } from './lock.ts';
import { roomMessages } from './room.ts';
import { taskMessages } from './task.ts';

export const base = { id: 'm-1', from: 'ann', ts: 'whenever' };

/** A valid message, and for each of its fields values that must be refused. */
export interface Sample {
  readonly schema: z.ZodType<object>;
  readonly valid: { readonly [field: string]: unknown };
  /** Fields that must be there. */
  readonly required: readonly string[];
  readonly wrong: { readonly [field: string]: readonly unknown[] };
}

const NOT_TEXT = [null, 1, true, [], {}];
const NOT_NAME = [...NOT_TEXT, '', 'a\u0000', 'x'.repeat(201), 'e\u0301', '\ud800'];
const NOT_KEY = [...NOT_TEXT, '', 'x'.repeat(129), '\ud800'];
const NOT_SECONDS = [null, '60', true, 0, -1, 2 ** 53, 30 * 86_400 + 0.001];
const NOT_WHOLE = [null, '1', true, 0, -1, 1.5, 2 ** 53];
const NOT_NAMES = [null, 'a', [''], [1], ['a', null], Array.from({ length: 65 }, (_, i) => `c${i}`)];

const NOT_ROSTER = [null, 'ann', [], ['ann', 'ann'], ['a b'], [1]];

/** So many names, each once. */
function many(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `n${i}`);
}

export const wrongBase = {
  id: NOT_KEY,
  from: [...NOT_TEXT, '', '-a', 'a b', 'ä', 'a'.repeat(129), '__proto__'],
  ts: [null, 0, true, []],
  in_reply_to: NOT_KEY,
  idempotency_key: NOT_KEY,
  expires_at: [null, 0, '', 'tomorrow', '2026-01-01', '2026-01-01T00:00:00'],
  max_hops: [null, -1, 17, 1.5, '8', true],
  reply_to: [null, 1, '', 'synod:lab:room', 'x'.repeat(256)],
};

export const task = { ...base, task_id: 't' };
export const samples: { readonly [type: string]: Sample } = {
  'task.announce': {
    schema: taskMessages['task.announce'],
    valid: { ...task, title: 'Sort the letters' },
    required: ['task_id', 'title'],
    wrong: {
      task_id: NOT_NAME,
      title: [...NOT_TEXT, '', '\udc00'],
      claim_seconds: NOT_SECONDS,
      lease_seconds: NOT_SECONDS,
      max_attempts: NOT_WHOLE,
      priority: [...NOT_WHOLE, 6],
      capabilities: NOT_NAMES,
    },
  },
  'task.claim': {
    schema: taskMessages['task.claim'],
    valid: task,
    required: ['task_id'],
    wrong: { task_id: NOT_NAME, lease_seconds: NOT_SECONDS },
  },
  'task.renew': {
    schema: taskMessages['task.renew'],
    valid: { ...task, attempt: 1 },
    required: ['task_id', 'attempt'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE, lease_seconds: NOT_SECONDS },
  },
  'task.complete': {
    schema: taskMessages['task.complete'],
    valid: { ...task, attempt: 1 },
    required: ['task_id', 'attempt'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE },
  },
  'task.fail': {
    schema: taskMessages['task.fail'],
    valid: { ...task, attempt: 1, reason: 'no ink' },
    required: ['task_id', 'attempt', 'reason'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE, reason: [...NOT_TEXT, ''], retry: [null, 'true', 1] },
  },
  'task.release': {
    schema: taskMessages['task.release'],
    valid: { ...task, attempt: 1 },
    required: ['task_id', 'attempt'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE },
  },
  'task.cancel': {
    schema: taskMessages['task.cancel'],
    valid: task,
    required: ['task_id'],
    wrong: { task_id: NOT_NAME, reason: NOT_TEXT },
  },
  'room.join': {
    schema: roomMessages['room.join'],
    valid: { ...base, kind: 'worker', purpose: 'to help' },
    required: ['kind', 'purpose'],
    wrong: { kind: NOT_NAME, purpose: NOT_TEXT, capabilities: NOT_NAMES },
  },
  'room.post': {
    schema: roomMessages['room.post'],
    valid: { ...base, text: 'hello' },
    required: ['text'],
    wrong: { text: [...NOT_TEXT, '', 'x'.repeat(4_001), '😀'.repeat(4_001)] },
  },
  'room.pause': { schema: roomMessages['room.pause'], valid: base, required: [], wrong: { reason: [...NOT_TEXT, ''] } },
  'room.resume': { schema: roomMessages['room.resume'], valid: base, required: [], wrong: {} },
  'coordinator.join': {
    schema: coordinatorMessages['coordinator.join'],
    valid: base,
    required: [],
    wrong: { role: NOT_NAME, heartbeat_seconds: [...NOT_SECONDS, 300.001] },
  },
  'coordinator.heartbeat': {
    schema: coordinatorMessages['coordinator.heartbeat'],
    valid: { ...base, epoch: 1 },
    required: ['epoch'],
    wrong: { role: NOT_NAME, epoch: NOT_WHOLE },
  },
  'coordinator.directive': {
    schema: coordinatorMessages['coordinator.directive'],
    valid: { ...base, epoch: 1, directive: { sort: 'letters' } },
    required: ['epoch', 'directive'],
    wrong: { role: NOT_NAME, epoch: NOT_WHOLE },
  },
  'coordinator.resign': {
    schema: coordinatorMessages['coordinator.resign'],
    valid: { ...base, epoch: 1 },
    required: ['epoch'],
    wrong: { role: NOT_NAME, epoch: NOT_WHOLE },
  },
  'coordinator.leave': {
    schema: coordinatorMessages['coordinator.leave'],
    valid: base,
    required: [],
    wrong: { role: NOT_NAME },
  },
  'decision.propose': {
    schema: decisionMessages['decision.propose'],
    valid: { ...base, proposal_id: 'p', question: 'Publish?', voters: ['ann', 'bob'], quorum: 2, deadline_seconds: 60 },
    required: ['proposal_id', 'question', 'voters', 'quorum', 'deadline_seconds'],
    wrong: {
      proposal_id: NOT_NAME,
      question: [...NOT_TEXT, '', '\udc00'],
      options: [null, 'a', [], ['a'], ['a', 'a'], ['a', ''], ['a', 1], many(33)],
      voters: [...NOT_ROSTER, many(257)],
      quorum: [...NOT_WHOLE, 3],
      deadline_seconds: NOT_SECONDS,
    },
  },
  'decision.vote': {
    schema: decisionMessages['decision.vote'],
    valid: { ...base, proposal_id: 'p', choice: 'yes' },
    required: ['proposal_id', 'choice'],
    wrong: { proposal_id: NOT_NAME, choice: NOT_NAME, reason: NOT_TEXT },
  },
  'decision.withdraw': {
    schema: decisionMessages['decision.withdraw'],
    valid: { ...base, proposal_id: 'p' },
    required: ['proposal_id'],
    wrong: { proposal_id: NOT_NAME, reason: NOT_TEXT },
  },
  'barrier.open': {
    schema: barrierMessages['barrier.open'],
    valid: { ...base, phase: 'p', roster: ['ann', 'bob'], timeout_seconds: 60, fallback: 'proceed' },
    required: ['phase', 'roster', 'timeout_seconds', 'fallback'],
    wrong: {
      phase: NOT_NAME,
      roster: [...NOT_ROSTER, many(1_025)],
      timeout_seconds: NOT_SECONDS,
      fallback: [...NOT_TEXT, 'proceeds'],
      quorum: [...NOT_WHOLE, 3],
      more: [null, 'true', 1],
    },
  },
  'barrier.roster': {
    schema: barrierMessages['barrier.roster'],
    valid: { ...base, phase: 'p', roster: ['cleo'] },
    required: ['phase', 'roster'],
    wrong: { phase: NOT_NAME, roster: NOT_ROSTER, more: [null, 'true', 1] },
  },
  'barrier.checkin': {
    schema: barrierMessages['barrier.checkin'],
    valid: { ...base, phase: 'p' },
    required: ['phase'],
    wrong: { phase: NOT_NAME, note: NOT_TEXT },
  },
  'barrier.leave': {
    schema: barrierMessages['barrier.leave'],
    valid: { ...base, phase: 'p' },
    required: ['phase'],
    wrong: { phase: NOT_NAME },
  },
  'barrier.resolve': {
    schema: barrierMessages['barrier.resolve'],
    valid: { ...base, phase: 'p', action: 'fail' },
    required: ['phase', 'action'],
    // Of the last two one is no time, the other no time to fail with.
    wrong: { phase: NOT_NAME, action: [...NOT_TEXT, 'go'], extend_seconds: [...NOT_SECONDS, 60] },
  },
  'lock.request': {
    schema: lockMessages['lock.request'],
    valid: { ...base, resources: ['a'], lock_type: 'exclusive' },
    required: ['resources', 'lock_type'],
    wrong: {
      resources: [null, 'a', [], [''], [1], ['a', null], many(65)],
      lock_type: [...NOT_TEXT, 'READ'],
      lease_seconds: [...NOT_SECONDS, 300.001],
      wait_seconds: NOT_SECONDS.filter((value) => value !== 0),
      priority: [...NOT_WHOLE, 6],
      scope: [null, '1', true, 1.5, 2 ** 53],
    },
  },
  'lock.renew': {
    schema: lockMessages['lock.renew'],
    valid: { ...base, lock_id: 'l' },
    required: ['lock_id'],
    wrong: { lock_id: NOT_KEY, lease_seconds: [...NOT_SECONDS, 300.001] },
  },
  'lock.release': {
    schema: lockMessages['lock.release'],
    valid: { ...base, lock_id: 'l' },
    required: ['lock_id'],
    wrong: { lock_id: NOT_KEY },
  },
  'lock.cancel': {
    schema: lockMessages['lock.cancel'],
    valid: { ...base, lock_id: 'l' },
    required: ['lock_id'],
    wrong: { lock_id: NOT_KEY, request: [null, 1, ''] },
  },
  'lock.force_release': {
    schema: lockMessages['lock.force_release'],
    valid: { ...base, lock_id: 'l', reason: 'stuck' },
    required: ['lock_id', 'reason'],
    wrong: { lock_id: NOT_KEY, reason: [...NOT_TEXT, ''] },
  },
  'config.set': {
    schema: configSet,
    valid: { ...base, config: { max_waits: 5 } },
    required: ['config'],
    wrong: { config: [null, 'a', [], 1] },
  },
};
