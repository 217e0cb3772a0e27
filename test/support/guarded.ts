import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { Guard } from './guard.ts';
import { Lockers } from './lockers.ts';
import { Wire } from './wire.ts';

const PROCESSES = 8;
/** Refusals of late writes without which nothing is shown, and how much longer they are waited for. */
const LATE_WRITES = 2;
const PATIENCE_MS = 90_000;

/** What came of it, counted from the file itself. */
export interface Guarded {
  readonly lines: number;
  readonly pauses: number;
  readonly lateRefused: number;
  readonly problems: readonly string[];
}

/**
 * Eight processes write one file through a guard that checks fencing tokens, each line under a lock, for so many seconds and until
 * some late writes were refused; now and then one of them is stopped for longer than its lease between reading and writing.
 */
export async function guardedFile(address: string, client: Client, room: string, seconds: number): Promise<Guarded> {
  const folder = await mkdtemp(path.join(tmpdir(), 'synod-guard-'));
  const guard = await Guard.open(path.join(folder, 'file'));
  const late = () => guard.refused.filter(({ line }) => line !== undefined).length;
  const writers = new Map<string, Lockers>();
  const pauses: Promise<void>[] = [];
  try {
    await Wire.locks(client, room, { config: { rollback_seconds: 0, max_waits: 2 * PROCESSES } }).request();
    guard.onVisit = ({ who, line }) => {
      const writer = writers.get(who);
      // Between its reading and its writing, one of four is stopped for longer than its lease.
      if (guard.enough || line !== undefined || !writer || Math.random() > 0.25) return;
      writer.pause();
      pauses.push(pause(2_200 + Math.random() * 1_000).then(() => writer.resume()));
    };
    for (let i = 0; i < PROCESSES; i++) {
      const locking = { room, name: `w${i}`, resource: 'file', leaseSeconds: 2, guard: guard.port };
      writers.set(`w${i}`, await Lockers.start(address, locking));
    }
    const end = performance.now() + seconds * 1_000;
    while (performance.now() < end || (late() < LATE_WRITES && performance.now() < end + PATIENCE_MS)) await pause(100);
    guard.enough = true;
    await Promise.all(pauses);
    const lines = (await guard.lines()).map((line) => line.split(' ').map(Number));
    return { lines: lines.length, pauses: pauses.length, lateRefused: late(), problems: faultsOf(lines, late()) };
  } finally {
    for (const { child } of writers.values()) await child.kill();
    await guard.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function faultsOf(lines: readonly (readonly number[])[], late: number): string[] {
  const faults: string[] = [];
  let newest = 0;
  for (const [i, [n, token = 0]] of lines.entries()) {
    // Read and written under one lock each: every number once, in order.
    if (n !== i + 1) faults.push(`line ${i + 1} is numbered ${n}`);
    if (token <= newest) faults.push(`line ${i + 1} has the token ${token} after ${newest}`);
    newest = Math.max(newest, token);
  }
  if (late < LATE_WRITES) faults.push(`only ${late} late writes were refused: nothing is shown`);
  return faults;
}
