import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { startChild, type OwnedChild } from '../../src/dev/child.ts';
import { Wire, type Envelope } from './wire.ts';

const main = fileURLToPath(new URL('coordinator.main.ts', import.meta.url));

/** A coordinator that was killed, and the next one. */
export interface Failover {
  /** From the last heartbeat to the next coordinator's first accepted directive, in milliseconds: of Temporal's time, and of the sender's clock, which is the same machine's. */
  readonly ms: number;
  /** The epoch of the one that was killed. */
  readonly epoch: number;
  readonly killed: string;
  readonly next: string;
  /** The directives of the room, in order. */
  readonly directives: readonly Envelope[];
  readonly lost: Envelope;
  /** The election that followed: of the next epoch. */
  readonly elected: Envelope;
}

/** Three candidates in processes of their own; the one that leads is killed, and the next one leads epoch 2. */
export async function failover(
  client: Client,
  address: string,
  room: string,
  heartbeatSeconds: number,
): Promise<Failover> {
  const processes = new Map<string, OwnedChild>();
  const start = async (agent: string) => {
    const child = await startChild(process.execPath, [
      '--import',
      'tsx',
      main,
      address,
      room,
      agent,
      String(heartbeatSeconds),
    ]);
    processes.set(agent, child);
    const ended = child.exited.then(() => Promise.reject(new Error(`${agent} has ended: ${child.tail()}`)));
    ended.catch(() => undefined);
    await Promise.race([child.said(/^stands$/), ended]);
  };
  try {
    await Promise.all(['ann', 'bob', 'cleo'].map(start));
    const wire = Wire.coordinator(client, room);
    await started(wire);
    // All of them are candidates: each gets one answer.
    const joined = new Set<unknown>();
    await wire.until(({ type, to }) => type === 'coordinator.joined' && joined.add(to).size === 3);
    // Where processes start slowly, more than one epoch may have passed.
    const { epoch, coordinator } = await wire.view();
    const killed = String(coordinator);
    await processes.get(killed)?.kill();
    const { last_heartbeat: last, epoch: still } = await wire.view();
    if (still !== epoch) throw new Error(`epoch ${String(epoch)} was over before its coordinator was killed`);
    const lost = await wire.until((event) => event.type === 'coordinator.lost' && event['epoch'] === epoch);
    const elected = await wire.until(
      (event) => event.type === 'coordinator.elected' && event['epoch'] === Number(epoch) + 1,
    );
    // What is logged was accepted.
    const directive = await wire.until(
      (event) => event.type === 'coordinator.directive' && Number(event['epoch']) > Number(epoch),
    );
    const log = (await wire.log()).map(({ envelope }) => envelope);
    return {
      ms: Date.parse(String(directive['ts'])) - Date.parse(String(last)),
      killed,
      next: directive.from,
      epoch: Number(epoch),
      directives: log.filter(({ type }) => type === 'coordinator.directive'),
      lost,
      elected,
    };
  } finally {
    await Promise.all([...processes.values()].map((child) => child.kill()));
  }
}

/** Whoever joins first starts the election. */
async function started(wire: Wire): Promise<void> {
  for (;;) {
    const found = await wire.handle.describe().catch(() => undefined);
    if (found) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
