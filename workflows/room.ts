import { room as protocol } from '../src/protocols/room/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** A room: `synod:{room}:room`. Started with `{ room, config? }`; never completes by itself. */
export async function room(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
