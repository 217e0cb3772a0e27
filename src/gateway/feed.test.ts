import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ServerResponse } from 'node:http';
import { standInHub, type StandIn } from '../client/hub.fixture.ts';
import { SharedConnection } from '../client/connection/sharedConnection.ts';
import { HUB_PATHS } from '../client/transport/hubTransport.ts';
import { Feed } from './feed.ts';

const event = { seq: 1, envelope: { type: 'room.post', id: 'm', from: 'ann', ts: '', seq: 1 } };

/** A log of one entry that its reader receives late: when somebody has asked a second time where the log ends. */
let standIn: StandIn;
let feed: Feed;
let kept: boolean;
let asked: number;
/** How many look-ups are refused in a way that repeating them does not mend. */
let refused: number;
const never = new AbortController().signal;

beforeEach(async () => {
  kept = true;
  asked = 0;
  refused = 0;
  let reader: ServerResponse | undefined;
  standIn = await standInHub((path, _call, response) => {
    if (path === HUB_PATHS.stream) {
      reader = response;
      return response.flushHeaders();
    }
    asked += 1;
    if (refused > 0) {
      refused -= 1;
      response.statusCode = 403;
      return response.end(JSON.stringify({ error: { code: 'unauthorized', message: 'not now' } }));
    }
    const next = asked > 1 && kept ? 1 : 0;
    if (next === 1) reader?.write(`id: 1\ndata: ${JSON.stringify(event)}\n\n`);
    response.end(JSON.stringify({ events: [], next, truncated: false, now: new Date(0).toISOString() }));
  });
  feed = new Feed(SharedConnection.of(standIn.client, 'synod'), 'synod:lab:room', () => undefined);
});
afterEach(async () => {
  feed.close();
  await standIn.stop();
});

describe('a log that is being followed', () => {
  beforeEach(async () => await feed.ready());

  it('has what an agent here knows to be logged, also where the log is slow', async () => {
    feed.expect(1);
    await feed.ready();
    expect([feed.head, asked]).toEqual([1, 2]);
  });

  it('does not wait for what a lost log does not have any more, and not twice', async () => {
    kept = false;
    feed.expect(1);
    await feed.ready();
    await feed.ready();
    expect([feed.head, asked]).toEqual([0, 2]);
  });

  it('says that it is not known where it is stopped before it is', async () => {
    kept = false;
    feed.expect(1);
    const stop = new AbortController();
    const ready = feed.ready(stop.signal);
    stop.abort();
    await expect(ready).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    expect([feed.head, asked]).toEqual([0, 1]);
  });

  it('knows reached, lost and unknown apart', async () => {
    refused = 1;
    await expect(feed.covers(1, never)).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    expect(await feed.covers(1, never)).toBe('reached');
    expect(await feed.covers(2, never)).toBe('lost');
  });

  it('does not take a log for lost because the caller has gone', async () => {
    await expect(feed.covers(1, AbortSignal.abort())).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is not known where the look-up for what is late fails', async () => {
    feed.expect(1);
    refused = 1;
    await expect(feed.ready()).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    await feed.ready();
    expect(feed.head).toBe(1);
  });
});

it('looks a log up again whose first look-up has failed, instead of taking it for absent', async () => {
  refused = 1;
  await expect(feed.ready()).rejects.toMatchObject({ code: 'unavailable', status: 503 });
  expect(feed.exists).toBe(false);
  await feed.ready();
  expect(feed.exists).toBe(true);
});
