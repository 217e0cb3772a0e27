import type { Client } from '@temporalio/client';
import { retried, say, Wire, type WireOptions } from './wire.ts';

/** Locks that are granted, queued, renewed, cancelled, released, lost, rolled back, forced, denied and escalated. */
export async function runLocks(client: Client, room: string, options: WireOptions = {}): Promise<Wire> {
  const config = { rollback_seconds: 0.3, permits: { seat: 1 } };
  const wire = Wire.locks(client, `${room}-locks`, { config, ...options });
  const request = (from: string, resources: string[], lock_type: string, more: object = {}) =>
    say('lock.request', from, { resources, lock_type, ...more });
  const ask = (message: object) => retried(() => wire.ask(message));
  const [first] = await ask(request('one', ['report', 'data'], 'write', { lease_seconds: 0.5 }));
  await ask(request('two', ['report'], 'read'));
  await ask(request('three', ['report'], 'exclusive', { wait_seconds: 300, lease_seconds: 300 }));
  await ask(request('four', ['report'], 'write', { wait_seconds: 0 }));
  await ask(say('lock.renew', 'one', { lock_id: first?.['lock_id'], lease_seconds: 0.4 }));
  await wire.until(({ type, holder }) => type === 'lock.expired' && holder === 'one');
  const left = request('four', ['report'], 'exclusive', { wait_seconds: 300 });
  await ask(left);
  await ask(say('lock.cancel', 'four', { request: left.id }));
  await wire.signal(say('lock.release', 'two', { lock_id: 'l-2' }));
  const granted = await wire.until(({ type, to }) => type === 'lock.granted' && to === 'three');
  await ask(request('one', ['seat'], 'permit'));
  await ask(say('config.set', 'operator:o', { config: { permits: { seat: 2 } } }));
  await ask(request('two', ['seat'], 'permit'));
  for (let i = 0; i < 3; i++) {
    const denied = request('two', ['report'], 'exclusive', { wait_seconds: 0.1 });
    await ask(denied);
    await wire.until((each) => each.type === 'lock.denied' && each['in_reply_to'] === denied.id);
  }
  await wire.until(({ type }) => type === 'lock.escalated');
  await ask(say('lock.force_release', 'operator:o', { lock_id: granted['lock_id'], reason: 'enough' }));
  // Enough for the run to hand over where the server suggests it early.
  for (let i = 0; i < 6; i++) {
    const [held] = await ask(request('five', [`other-${i}`], 'exclusive'));
    await ask(say('lock.release', 'five', { lock_id: held?.['lock_id'] }));
  }
  return wire;
}
