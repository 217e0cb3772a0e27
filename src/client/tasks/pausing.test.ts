import { expect, it } from 'vitest';
import type { LogEvent } from '../../envelope/calls.ts';
import { Pausing } from './pausing.ts';

const said = (type: string): LogEvent => ({ seq: 1, envelope: { type, id: 'm', from: 'operator:jo', ts: '' } });
const endless = new AbortController().signal;

it('holds from a pause until it is resumed, whatever others post', async () => {
  const pausing = new Pausing();
  await pausing.over(endless);
  pausing.note(said('room.pause'));
  pausing.note(said('room.post'));
  const order: string[] = [];
  const over = pausing.over(endless).then(() => order.push('over'));
  await Promise.resolve();
  order.push('resumed');
  pausing.note(said('room.resume'));
  await over;
  expect(order).toEqual(['resumed', 'over']);
});

it('learns from the board what came before', async () => {
  const pausing = new Pausing();
  expect(await pausing.look(async () => ({ rows: [], paused: true }))).toEqual({ rows: [], paused: true });
  expect(pausing.paused).toBe(true);
  await pausing.look(async () => ({ rows: [], paused: false }));
  expect(pausing.paused).toBe(false);
});

it('knows nothing from a room that is not there, and fails at a page that does not say', async () => {
  const pausing = new Pausing();
  pausing.note(said('room.pause'));
  expect(await pausing.look(async () => undefined)).toBeUndefined();
  await expect(pausing.look(async () => ({ rows: [] }))).rejects.toThrow('paused');
  expect(pausing.paused).toBe(true);
});

it('believes the log rather than a board that was asked before', async () => {
  const pausing = new Pausing();
  await pausing.look(async () => {
    pausing.note(said('room.pause'));
    return { rows: [], paused: false };
  });
  expect(pausing.paused).toBe(true);
});

it('does not keep a worker that is stopped', async () => {
  const pausing = new Pausing();
  pausing.note(said('room.pause'));
  const stop = new AbortController();
  const over = pausing.over(stop.signal);
  stop.abort();
  await over;
  expect(pausing.paused).toBe(true);
});
