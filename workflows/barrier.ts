import { barrier as protocol } from '../src/protocols/barrier/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** One phase's barrier: `synod:{room}:barrier:{phase}`. Started with `{ room, config? }`, opened by `barrier.open`. */
export async function barrier(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
