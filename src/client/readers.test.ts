import { afterAll, beforeAll, expect, it } from 'vitest';
import { receiveArgs, type LogEvent } from '../envelope/calls.ts';
import { SharedConnection } from './connection/sharedConnection.ts';
import { standInHub, type StandIn } from './hub.fixture.ts';
import { HUB_PATHS } from './transport/hubTransport.ts';

const AGENTS = 2_500;
const event = (seq: number, to: string): LogEvent => ({
  seq,
  envelope: { type: 'room.accepted', id: `r-${seq}`, from: 'synod', to, ts: '', seq },
});
const log = [event(1, 'a-0'), event(2, 'a-1200'), event(3, `a-${AGENTS - 1}`)];

/** A stand-in for a hub: refuses what the contract refuses, and returns to each call what is for its agents. */
const refused: string[] = [];
const waiting = new Set<string | undefined>();
let standIn: StandIn;

beforeAll(async () => {
  standIn = await standInHub((path, call, response) => {
    const parsed = receiveArgs.safeParse(call);
    if (!parsed.success) {
      refused.push(parsed.error.message);
      response.writeHead(400).end(JSON.stringify({ error: { code: 'invalid_envelope', message: 'refused' } }));
      return;
    }
    const { reader, agents, after } = parsed.data;
    const events = log.filter(({ seq, envelope }) => seq > after && agents.includes(envelope.to ?? ''));
    if (path !== HUB_PATHS.stream)
      return response.end(JSON.stringify({ events, next: log.length, truncated: false, now: '' }));
    // Nothing more will come: the stream stays open.
    for (const event of events) response.write(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`);
    response.flushHeaders();
    waiting.add(reader);
  });
});
afterAll(async () => await standIn.stop());

it('reads for more agents of a process than one call may name, for each once', async () => {
  const connection = SharedConnection.of(standIn.client, 'synod');
  const received: string[] = [];
  const stops = Array.from({ length: AGENTS }, (_, i) => {
    const agent = `a-${i}`;
    return connection
      .readerOf('synod:lab:room')
      .listen({ agent, onEvent: ({ seq }) => received.push(`${agent} ${seq}`), onGap: () => undefined }, 0);
  });
  await expect.poll(() => waiting.size).toBe(3);
  await expect.poll(() => received.toSorted()).toEqual(['a-0 1', 'a-1200 2', `a-${AGENTS - 1} 3`]);
  expect(refused).toEqual([]);
  for (const stop of stops) stop();
});
