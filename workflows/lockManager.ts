import { lockManager as protocol } from '../src/protocols/lock/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** The locks of a room: `synod:{room}:locks`, or one of its shards. Started with `{ room, config? }`; it never ends by itself. */
export async function lockManager(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
