import { chatLedger as protocol } from '../src/protocols/bridge/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** The ledger of a chat that a room is mirrored to: `synod:{room}:bridge:{chat}`. Started with `{ room, config? }`; never completes by itself. */
export async function chatLedger(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
