import { fileURLToPath } from 'node:url';
import { startChild } from '../src/dev/child.ts';
import { FakeMatrix } from '../test/bridge/fakes/matrix.ts';
import type { Site } from './services.ts';

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

/** What may stand beside a room: no bridge, one with a chat, one whose chat is not to be reached. Each returns what ends it. */
export function besides(site: Site): Record<string, (room: string) => Promise<() => Promise<void>>> {
  return {
    'no-bridge': () => Promise.resolve(() => Promise.resolve()),
    'chat-up': (room) => bridged(site, room, true),
    'chat-down': (room) => bridged(site, room, false),
  };
}

/** `synod bridge` in a process of its own, as people run it. */
async function bridged(site: Site, room: string, reachable: boolean): Promise<() => Promise<void>> {
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
    await child.stop();
    await chat.stop();
  };
}
