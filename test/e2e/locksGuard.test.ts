import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Guard } from '../support/guard.ts';
import { Lockers } from '../support/lockers.ts';
import { startStack } from '../support/stack.ts';
import { Wire } from '../support/wire.ts';

const PROCESSES = 8;
/** At least so long, and until some late writes were refused. */
const SECONDS = Number(process.env['SYNOD_GUARD_SECONDS'] ?? 0);

it(
  'a guarded file has no line of an older token after one of a newer, however its writers are paused',
  { timeout: 120_000 + SECONDS * 2_000 },
  async () => {
    const stack = await startStack();
    const folder = await mkdtemp(path.join(tmpdir(), 'synod-guard-'));
    const guard = await Guard.open(path.join(folder, 'file'));
    const late = () => guard.refused.filter(({ line }) => line !== undefined).length;
    const writers = new Map<string, Lockers>();
    const pauses: Promise<void>[] = [];
    try {
      await Wire.locks(stack.client, 'guard', { config: { rollback_seconds: 0, max_waits: 2 * PROCESSES } }).request();
      guard.onVisit = ({ who, line }) => {
        const writer = writers.get(who);
        // Between its reading and its writing, one of four is stopped for longer than its lease.
        if (guard.enough || line !== undefined || !writer || Math.random() > 0.25) return;
        writer.pause();
        const ms = 2_200 + Math.random() * 1_000;
        pauses.push(new Promise((resolve) => setTimeout(() => resolve(writer.resume()), ms)));
      };
      for (let i = 0; i < PROCESSES; i++) {
        const locking = { room: 'guard', name: `w${i}`, resource: 'file', leaseSeconds: 2, guard: guard.port };
        writers.set(`w${i}`, await Lockers.start(stack.server.address, locking));
      }
      await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000));
      await expect.poll(() => late(), { timeout: 90_000 }).toBeGreaterThanOrEqual(2);
      guard.enough = true;
      await Promise.all(pauses);
      const lines = (await guard.lines()).map((line) => line.split(' '));
      // Read and written under one lock each: every number once, in order.
      expect(lines.map(([n]) => Number(n))).toEqual(lines.map((_, i) => i + 1));
      const tokens = lines.map(([, token]) => Number(token));
      expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
      console.info(`locks: ${lines.length} lines, ${pauses.length} pauses, ${late()} late writes refused`);
    } finally {
      for (const { child } of writers.values()) await child.kill();
      await guard.close();
      await stack.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
