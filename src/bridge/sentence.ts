import type { Envelope } from '../envelope/envelope.ts';
import type { Json } from '../envelope/fields.ts';

/** Characters of one field that are shown. */
const MAX_TEXT = 200;

/** A field's value as text, harmless and of bounded length. */
type Field = (name: string) => string;
type Sentence = (field: Field, envelope: Envelope) => string;

const SENTENCES: { readonly [type: string]: Sentence } = {
  'task.announce': (field, { attempt }) =>
    attempt === undefined || attempt === 1
      ? `${field('from')} announces ${field('task_id')}: ${field('title')}`
      : `${field('task_id')} is announced again, attempt ${field('attempt')}`,
  'task.accepted': (field) => `${field('task_id')} is on the board`,
  'task.claim': (field) => `${field('from')} claims ${field('task_id')}`,
  'task.ack': (field) =>
    `${field('to')} has ${field('task_id')}, token ${field('attempt')}, until ${timeOf(field, 'lease_expires_at')}`,
  'task.closed': (field) => `${field('task_id')} is taken by ${field('holder')}`,
  'task.complete': (field) => `${field('from')} reports ${field('task_id')} done`,
  'task.completed': (field) => `${field('task_id')} is completed by ${field('holder')}`,
  'task.fail': (field) => `${field('from')} fails at ${field('task_id')}: ${field('reason')}`,
  'task.release': (field) => `${field('from')} hands back ${field('task_id')}`,
  'task.expired': (field) =>
    `the lease of ${field('holder')} on ${field('task_id')} has run out (attempt ${field('attempt')})`,
  'task.unclaimed': (field) => `nobody has claimed ${field('task_id')} yet`,
  'task.failed': (field) => `${field('task_id')} has failed: ${field('reason')}`,
  'task.cancelled': (field) => `${field('task_id')} is cancelled by ${field('by')}`,
  'task.cancel': (field) => `${field('from')} cancels ${field('task_id')}`,
  'task.renew': (field) => `${field('from')} renews its lease on ${field('task_id')}`,
  'task.renewed': (field) => `${field('to')} has ${field('task_id')} until ${timeOf(field, 'lease_expires_at')}`,

  'coordinator.elected': (field) =>
    `${field('coordinator')} is the coordinator${ofRole(field('role'))}, epoch ${field('epoch')}`,
  'coordinator.directive': (field) => `${field('from')} directs: ${field('directive')}`,
  'coordinator.lost': (field) => `the coordinator ${field('coordinator')} sends no heartbeat any more`,
  'coordinator.resigned': (field) => `${field('coordinator')} resigns as coordinator`,
  'coordinator.join': (field) => `${field('from')} stands for coordinator${ofRole(field('role'))}`,
  'coordinator.joined': (field) => `${field('to')} stands for coordinator${ofRole(field('role'))}`,
  'coordinator.heartbeat': (field) => `${field('from')} leads on, epoch ${field('epoch')}`,
  'coordinator.alive': (field) => `${field('to')} is active`,
  'coordinator.accepted': (field) => `a message of ${field('to')} is accepted`,
  'coordinator.resign': (field) => `${field('from')} resigns as coordinator${ofRole(field('role'))}`,
  'coordinator.leave': (field) => `${field('from')} leaves the election${ofRole(field('role'))}`,
  'coordinator.left': (field) => `${field('to')} has left the election${ofRole(field('role'))}`,

  'decision.propose': (field) => `${field('from')} asks ${field('proposal_id')}: ${field('question')}`,
  'decision.vote': (field) => `${field('from')} votes ${field('choice')} on ${field('proposal_id')}`,
  'decision.commit': (field) => `${field('proposal_id')} is decided: ${field('choice')} (${field('tally')})`,
  'decision.failed': (field) => `${field('proposal_id')} is not decided: ${field('reason')}`,
  'decision.accepted': (field) => `${field('proposal_id')} is put to the vote`,
  'decision.voted': (field) => `the vote of ${field('to')} on ${field('proposal_id')} counts`,
  'decision.withdraw': (field) => `${field('from')} withdraws ${field('proposal_id')}`,

  'barrier.open': (field, { roster }) =>
    `${field('from')} opens the barrier ${field('phase')} for ${Array.isArray(roster) ? `${roster.length} agents` : field('roster')}`,
  'barrier.checkin': (field) => `${field('from')} is at the barrier ${field('phase')}`,
  'barrier.accepted': (field) => `a message of ${field('to')} to the barrier ${field('phase')} is accepted`,
  'barrier.waiting': (field) => `${field('to')} waits at ${field('phase')}`,
  'barrier.roster': (field, { roster }) =>
    `${field('from')} adds ${Array.isArray(roster) ? `${roster.length} agents` : 'agents'} to the barrier ${field('phase')}`,
  'barrier.leave': (field) => `${field('from')} leaves ${field('phase')}`,
  'barrier.resolve': (field) => `${field('from')} resolves the barrier ${field('phase')}: ${field('action')}`,
  'barrier.released': (field) => `the barrier ${field('phase')} is open`,
  'barrier.escalated': (field) => `the barrier ${field('phase')} still waits for ${field('missing')}`,
  'barrier.failed': (field) => `the barrier ${field('phase')} has failed; missing: ${field('missing')}`,

  'lock.request': (field) => `${field('from')} asks for ${field('resources')} (${field('lock_type')})`,
  'lock.granted': (field) => `${field('to')} holds ${field('tokens')}, lock ${field('lock_id')}`,
  'lock.queued': (field) => `${field('to')} waits for ${field('lock_id')}, place ${field('position')}`,
  'lock.denied': (field) => `${field('to')} gets no lock: ${field('reason')}`,
  'lock.release': (field) => `${field('from')} frees ${field('lock_id')}`,
  'lock.released': (field) => `${field('lock_id')} is free`,
  'lock.renew': (field) => `${field('from')} renews ${field('lock_id')}`,
  'lock.renewed': (field) => `${field('to')} holds ${field('lock_id')} until ${timeOf(field, 'lease_expires_at')}`,
  'lock.cancel': (field, { lock_id: id }) =>
    `${field('from')} asks no more for ${field(id === undefined ? 'request' : 'lock_id')}`,
  'lock.cancelled': (field) => `${field('to')} waits no more`,
  'lock.force_release': (field) => `${field('from')} takes ${field('lock_id')} from its holder: ${field('reason')}`,
  'lock.accepted': (field) => `a message of ${field('to')} is accepted`,
  'lock.expired': (field) => `${field('holder')} has lost ${field('resources')} (lock ${field('lock_id')})`,
  'lock.escalated': (field) => `a lock needs attention: ${field('reason')}`,

  'room.join': (field) => `${field('from')} joins as ${field('kind')}: ${field('purpose')}`,
  'room.pause': (field, { reason }) =>
    `${field('from')} pauses the room: nothing new is begun${reason === undefined ? '' : ` (${field('reason')})`}`,
  'room.resume': (field) => `${field('from')} resumes the room`,
  'room.accepted': (field) => `a message of ${field('to')} is accepted`,
  'room.post': (field) => `${field('from')}: ${field('text')}`,
  'state.put': (field) => `${field('from')} writes ${field('key')}`,
  'state.stored': (field) => `${field('key')} is written, version ${field('version')}`,
  'state.delete': (field) => `${field('from')} deletes ${field('key')}`,
  'state.deleted': (field) => `${field('key')} is deleted`,
  'state.get': (field) => `${field('from')} reads ${field('keys')}`,
  'state.values': (field) => `${field('to')} is answered as of revision ${field('revision')}`,
  'state.list': (field) => `${field('from')} lists the keys of ${field('namespace')}`,
  'state.page': (field) => `${field('to')} is answered as of revision ${field('revision')}`,
  'state.txn': (field) => `${field('from')} writes several keys of ${field('namespace')}`,
  'state.committed': (field) => `the writes of ${field('to')} are done, revision ${field('revision')}`,
  'state.conflict': (field) => `${field('to')} was too late: another has written first`,
  'state.lease': (field) => `${field('from')} binds ${field('key')} to ${field('lock_id')}`,
  'state.bound': (field) => `${field('key')} is bound to a lock`,
  'state.changed': (field, { deleted }) =>
    `${field('last_modified_by')} ${deleted === true ? 'deletes' : 'writes'} ${field('key')} of ${field('namespace')}, version ${field('version')}`,
  'state.expired': (field) => `${field('key')} of ${field('namespace')} has expired`,

  'synod.resumed': (field) =>
    `runs again after ${field('away_seconds')} seconds; ${field('extended')} leases and waits are extended`,
  'synod.digest': (field) => `and ${field('counts')}`,
  'config.set': (field) => `${field('from')} configures: ${field('config')}`,
  'config.accepted': (field) => `a message of ${field('to')} is accepted`,
  error: (field) => `refused ${field('to')}: ${field('code')}, ${field('reason')}`,
};

function ofRole(role: string): string {
  return role === 'main' || role === '?' ? '' : ` of ${role}`;
}

/**
 * What an envelope means, as one line of bounded length.
 * @param clean what makes a field harmless, before it is cut.
 */
export function sentence(envelope: Envelope, clean: (text: string) => string): string {
  const field: Field = (name) => cut(clean(textOf(envelope[name])).replaceAll('\n', ' '));
  const known = Object.hasOwn(SENTENCES, envelope.type) ? SENTENCES[envelope.type] : undefined;
  return known ? known(field, envelope) : `${field('from')} ${field('type')}`;
}

function timeOf(field: Field, name: string): string {
  return field(name).slice(11, 19);
}

/** A list as `a, b`, an object of numbers or texts as `a 1, b 2`; what is deeper as JSON. */
function textOf(value: Json | undefined): string {
  if (value === undefined) return '?';
  if (Array.isArray(value) && value.every(isPlain)) return value.join(', ');
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value);
    if (entries.every(([, each]) => isPlain(each)))
      return entries.map(([key, each]) => `${key} ${JSON.stringify(each)}`).join(', ');
  }
  return isPlain(value) ? `${value}` : JSON.stringify(value);
}

function isPlain(value: Json | undefined): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function cut(text: string): string {
  // No half of a surrogate pair is left.
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')}…` : text;
}
