import { z } from 'zod';
import type { AgentPool } from './agentPool.ts';
import { ascending, quantile, unique } from './measures.ts';

/** A gateway that the bench has started. */
export interface BenchGateway {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

/** Processes over which the streams are spread. */
const READERS = 4;
const POSTS_A_SECOND = 5;

/** Milliseconds from a post to each of so many open streams, and what they cost the gateway in memory. */
export async function openStreams(
  gateway: BenchGateway,
  pool: AgentPool,
  { streams, seconds }: { streams: number; seconds: number },
): Promise<Record<string, number>> {
  const { url, token } = gateway;
  const room = unique('streams');
  await say(gateway, room, 'opens');
  const before = await residentBytes(url);
  const each = { kind: 'streams', url, token, room, streams: streams / READERS, seconds: seconds + 3 } as const;
  let posts = 0;
  const running = pool.run(
    Array.from({ length: READERS }, () => each),
    async () => {
      for (const end = performance.now() + seconds * 1000; performance.now() < end; posts++) {
        await say(gateway, room, `at ${Date.now()}`);
        await new Promise((resolve) => setTimeout(resolve, 1000 / POSTS_A_SECOND));
      }
      bytes = await residentBytes(url);
    },
  );
  let bytes = before;
  const outcomes = await running;
  const latencies = outcomes.flatMap((outcome) => outcome.latencies).sort(ascending);
  return {
    streams_open: streams,
    streams_told: latencies.length,
    streams_missed: posts * streams - latencies.length,
    streams_p50_ms: quantile(latencies, 0.5),
    streams_p99_ms: quantile(latencies, 0.99),
    streams_max_ms: latencies.at(-1) ?? Number.NaN,
    streams_kib_each: (bytes - before) / 1024 / streams,
    streams_gateway_mib: bytes / 1024 / 1024,
  };
}

async function say({ url, token }: BenchGateway, room: string, text: string): Promise<void> {
  const response = await fetch(`${url}/v1/rooms/${room}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ type: 'room.post', text }),
  });
  if (response.status !== 201) throw new Error(`the gateway answered ${response.status}: ${await response.text()}`);
}

async function residentBytes(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return z.coerce.number().parse(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1]);
}
