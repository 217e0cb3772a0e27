import { stateStore as protocol } from '../src/protocols/state-store/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** Shared state of a room under one namespace: `synod:{room}:state:{namespace}`. Started with `{ room, config? }`; never completes by itself. */
export async function stateStore(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
