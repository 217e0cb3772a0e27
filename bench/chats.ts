import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { startChild } from '../src/dev/child.ts';
import { FakeMatrix } from '../test/bridge/fakes/matrix.ts';
import { Wire } from '../test/support/wire.ts';
import type { AgentPool } from './agentPool.ts';
import { ascending, lockLoad, quantile, type Load } from './measures.ts';
import { reported, type Section } from './report.ts';
import type { Site } from './services.ts';

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

/** How long a chat that is back may take to receive everything, in milliseconds: the bridge tries it half a minute apart. */
const CATCH_UP_MS = 240_000;
const LOOK_MS = 250;

/** What a chat that is back received, and how fast. */
interface CaughtUp {
  readonly seconds: number;
  readonly entries: number;
  readonly posts: number;
  /** Entries left out, by the lines in the chat that count them. */
  readonly leftOut: number;
}

/**
 * What may run beside a room: no bridge, one with a chat, one whose chat cannot be reached. Each returns what ends it.
 * @param onCaughtUp when given, the last one's chat is back at the end, and this receives the result.
 */
function besides(
  site: Site,
  onCaughtUp?: (caughtUp: CaughtUp) => void,
): Record<string, (room: string) => Promise<() => Promise<void>>> {
  return {
    'no-bridge': () => Promise.resolve(() => Promise.resolve()),
    'chat-up': (room) => bridged(site, room, true),
    'chat-down': (room) => bridged(site, room, false, onCaughtUp),
  };
}

/**
 * Locks beside no bridge, a bridge, and one whose chat is down. Side by side: rounds of each in turn, so that what else the
 * machine does falls on all of them.
 */
export async function bridgeSection(site: Site, pool: AgentPool, quick: boolean): Promise<Section> {
  // The rounds with the chat down make two minutes of work.
  const [count, seconds] = quick ? [2, 4] : [5, 24];
  const load = { seconds, processes: 2, agents: 16, shared: false };
  const rounds: Record<string, Load[]> = {};
  let back: CaughtUp | undefined;
  for (let round = 1; round <= count; round++) {
    const each = round === count ? besides(site, (caughtUp) => (back = caughtUp)) : besides(site);
    for (const [name, beside] of Object.entries(each)) {
      const one = reported(`locks, ${name}`, await lockLoad(site, pool, load, beside));
      (rounds[name] ??= []).push(one);
    }
  }
  const loads = Object.fromEntries(Object.entries(rounds).map(([name, some]) => [name, together(some)]));
  return {
    loads: Object.fromEntries(Object.entries(loads).map(([name, one]) => [`locks-${name}`, one])),
    figures: {
      // Once the chat is back: until everything in the room's log is posted, or counted as left out.
      catch_up_seconds: back?.seconds ?? Number.NaN,
      catch_up_entries: back?.entries ?? Number.NaN,
      catch_up_posts: back?.posts ?? Number.NaN,
      catch_up_left_out: back?.leftOut ?? Number.NaN,
    },
  };
}

/** Sums up rounds of one load. */
function together(rounds: readonly Load[]): Load {
  const [first] = rounds;
  if (!first) throw new Error('no round was run');
  const rates = rounds.map((round) => round.per_second).sort(ascending);
  return { ...first, per_second: quantile(rates, 0.5), errors: rounds.reduce((sum, round) => sum + round.errors, 0) };
}

/** `synod bridge` in a process of its own, as users run it. */
async function bridged(
  site: Site,
  room: string,
  reachable: boolean,
  onCaughtUp?: (caughtUp: CaughtUp) => void,
): Promise<() => Promise<void>> {
  const chat = new FakeMatrix();
  await chat.up();
  Object.assign(process.env, { SYNOD_MATRIX_TOKEN: chat.token, TEMPORAL_ADDRESS: site.server.address });
  const where = ['--room', room, '--matrix-url', chat.url, '--matrix-room', chat.room];
  if (!reachable) await chat.down();
  const child = await startChild(process.execPath, ['--import', 'tsx', MAIN, 'bridge', ...where]);
  const ended = child.exited.then(() => Promise.reject(new Error(`the bridge has ended:\n${child.tail()}`)));
  ended.catch(() => undefined);
  await Promise.race([child.said(/^ready$/), ended]);
  return async () => {
    if (onCaughtUp) {
      await chat.up();
      onCaughtUp(await caughtUp(site, room, chat));
    }
    await child.stop();
    await chat.stop();
  };
}

/** Waits until the chat has received everything that the room's log has now. */
async function caughtUp({ client }: Site, room: string, chat: FakeMatrix): Promise<CaughtUp> {
  const began = performance.now();
  const { head: entries } = z.object({ head: z.number() }).parse((await Wire.room(client, room).view())['log']);
  const ledger = Wire.ledger(client, room, `matrix:${chat.room}`);
  for (let cursor = 0; cursor < entries; cursor = z.number().parse((await ledger.view())['cursor'])) {
    if (performance.now() - began > CATCH_UP_MS)
      throw new Error(`the chat has received ${cursor} of ${entries} entries`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  const left = chat.posts.flatMap(({ text }) => [...text.matchAll(/… (\d+) entr(?:y is|ies are) left out/g)]);
  return {
    seconds: (performance.now() - began) / 1000,
    entries,
    posts: chat.posts.length,
    leftOut: left.reduce((sum, [, count]) => sum + Number(count), 0),
  };
}
