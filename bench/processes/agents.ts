/** A process of agents: it does what its parent orders, and ends with it. */
import { setMaxListeners } from 'node:events';
import http from 'node:http';
import { ServiceError, WorkflowUpdateFailedError, isGrpcServiceError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { Agent, connect } from '../../src/client/index.ts';
import { toProcess, type Order, type Outcome } from '../orders.ts';

/** Longer than a thousand others take. */
const LONG_WAIT_SECONDS = 600;

const clients = new Map<string, Promise<Client>>();
let go: () => void = () => undefined;

process.once('disconnect', () => process.exit(0));
// The terminal's Ctrl-C is for the parent.
process.on('SIGINT', () => undefined);
process.on('message', (raw) => {
  const message = toProcess.parse(raw);
  if (message.kind === 'go') return go();
  const began = new Promise<void>((resolve) => (go = resolve));
  carryOut(message.order, began).then(
    (outcome) => process.send?.(outcome),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function carryOut(order: Order, began: Promise<void>): Promise<Outcome> {
  const tally: Outcome = { kind: 'outcome', seconds: 0, latencies: [], errors: {}, retries: {}, received: 0 };
  if (order.kind === 'streams') return await streaming(order, tally, began);
  const client = await clientOf(order.address, 'hub' in order ? order.hub : undefined);
  switch (order.kind) {
    case 'bare': {
      const handle = client.workflow.getHandle(order.workflowId);
      const ask = async () => void (await handle.executeUpdate('ask', { args: ['x'] }));
      return await measured([ask], order, tally, began);
    }
    case 'post': {
      const { room, name } = order;
      const onRetry = ({ error }: { error: unknown }) => add(tally.retries, causeOf(error));
      const agents = Array.from({ length: order.agents }, (_, i) => new Agent(client, `${name}-${i}`));
      const first = new Agent(client, `${name}-0`, { onRetry });
      await first.join(room, { kind: 'bench', purpose: 'posts' });
      const stop = order.listen ? await listening(first, room, tally) : () => undefined;
      tally.retries = {};
      const posts = agents.map((agent) => async () => await agent.post(room, 'as fast as it goes'));
      const outcome = await measured(posts, order, tally, began);
      stop();
      return outcome;
    }
    case 'lock': {
      const { room, name } = order;
      const onRetry = ({ error }: { error: unknown }) => add(tally.retries, causeOf(error));
      const locks = Array.from({ length: order.agents }, (_, i) => {
        const mine = new Agent(client, `${name}-${i}`, i === 0 ? { onRetry } : {}).room(room);
        const resource = order.shared ? 'one' : `${name}-${i}`;
        const options = { type: 'exclusive', waitSeconds: LONG_WAIT_SECONDS } as const;
        return async () => await mine.lock([resource], options, () => Promise.resolve());
      });
      return await measured(locks, order, tally, began);
    }
    case 'idle': {
      const stop = await listening(new Agent(client, 'reader'), order.room, tally);
      process.send?.({ kind: 'ready' });
      await began;
      await new Promise((resolve) => setTimeout(resolve, order.seconds * 1000));
      stop();
      return tally;
    }
  }
}

/** Opens streams of a gateway; the latency of each entry is counted from the time in its text. */
async function streaming(
  { url, token, room, streams, seconds }: Extract<Order, { kind: 'streams' }>,
  tally: Outcome,
  began: Promise<void>,
): Promise<Outcome> {
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  const agent = new http.Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const open = async () =>
    await new Promise<void>((resolve, reject) => {
      const request = http.get(`${url}/v1/rooms/${room}/stream`, {
        agent,
        signal: end.signal,
        headers: { authorization: `Bearer ${token}` },
      });
      request.on('error', reject);
      request.on('response', (response) => {
        response.on('error', () => undefined);
        response.on('data', (chunk: Buffer) => {
          resolve();
          for (const [, at] of chunk.toString().matchAll(/"text":"at (\d+)"/g)) {
            tally.latencies.push(Date.now() - Number(at));
            tally.received += 1;
          }
        });
      });
    });
  // Some at a time: a listener's backlog is short.
  for (let opened = 0; opened < streams; opened += 50)
    await Promise.all(Array.from({ length: Math.min(50, streams - opened) }, open));
  process.send?.({ kind: 'ready' });
  await began;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  end.abort();
  return { ...tally, seconds };
}

/** Listens, and resolves when it is known where the present is. */
async function listening(agent: Agent, room: string, tally: Outcome): Promise<() => void> {
  return await new Promise((resolve) => {
    const stop = agent.listen(room, () => (tally.received += 1), { onGap: () => resolve(() => stop()) });
  });
}

/** Repeats each operation, one at a time, until the time or the number is used up. */
async function measured(
  operations: readonly (() => Promise<void>)[],
  { seconds, maxOps }: { seconds: number; maxOps: number },
  tally: Outcome,
  began: Promise<void>,
): Promise<Outcome> {
  process.send?.({ kind: 'ready' });
  await began;
  const start = performance.now();
  const end = start + seconds * 1000;
  let begun = 0;
  await Promise.all(
    operations.map(async (operation) => {
      while (performance.now() < end && begun < maxOps) {
        begun += 1;
        const at = performance.now();
        try {
          await operation();
          tally.latencies.push(performance.now() - at);
        } catch (error) {
          add(tally.errors, causeOf(error));
        }
      }
    }),
  );
  return { ...tally, seconds: (performance.now() - start) / 1000 };
}

async function clientOf(address: string, hub?: { url: string; token: string }): Promise<Client> {
  const key = hub?.url ?? address;
  const client = clients.get(key) ?? connect(hub ? { hub: hub.url, token: hub.token } : { address });
  clients.set(key, client);
  return await client;
}

function add(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

/** The innermost name of a failure: a failure's type, or gRPC's code and words without what varies. */
function causeOf(error: unknown): string {
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
    return `update failed: ${error.cause.type ?? error.cause.message}`;
  const cause = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(cause)) return `gRPC ${cause.code}: ${cause.details.slice(0, 80)}`;
  if (!(error instanceof Error)) return String(error);
  return `${error.name}: ${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}`.slice(
    0,
    120,
  );
}
