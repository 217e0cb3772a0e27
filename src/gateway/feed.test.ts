import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ServerResponse } from 'node:http';
import { standInHub, type StandIn } from '../client/hub.fixture.ts';
import { SharedConnection } from '../client/connection/sharedConnection.ts';
import { HUB_PATHS } from '../client/transport/hubTransport.ts';
import { Feed } from './feed.ts';

const event = { seq: 1, envelope: { type: 'room.post', id: 'm', from: 'ann', ts: '', seq: 1 } };

/** A log of one entry that its reader is told of late: when somebody has asked a second time where the log ends. */
let standIn: StandIn;
let feed: Feed;
let kept: boolean;
let asked: number;

beforeEach(async () => {
  kept = true;
  asked = 0;
  let reader: ServerResponse | undefined;
  standIn = await standInHub((path, _call, response) => {
    if (path === HUB_PATHS.stream) {
      reader = response;
      return response.flushHeaders();
    }
    asked += 1;
    const next = asked > 1 && kept ? 1 : 0;
    if (next === 1) reader?.write(`id: 1\ndata: ${JSON.stringify(event)}\n\n`);
    response.end(JSON.stringify({ events: [], next, truncated: false, now: new Date(0).toISOString() }));
  });
  feed = new Feed(SharedConnection.of(standIn.client, 'synod'), 'synod:lab:room', () => undefined);
  await feed.ready();
});
afterEach(async () => {
  feed.close();
  await standIn.stop();
});

it('has what an agent here was told is logged, also where the log is slow to tell it', async () => {
  feed.expect(1);
  await feed.ready();
  expect([feed.head, asked]).toEqual([1, 2]);
});

it('does not wait for what a lost log does not have any more', async () => {
  kept = false;
  feed.expect(1);
  await feed.ready();
  expect([feed.head, asked]).toEqual([0, 2]);
});

it('does not wait for it when it is told to stop', async () => {
  kept = false;
  feed.expect(1);
  const stop = new AbortController();
  const ready = feed.ready(stop.signal);
  stop.abort();
  await ready;
  expect([feed.head, asked]).toEqual([0, 1]);
});
