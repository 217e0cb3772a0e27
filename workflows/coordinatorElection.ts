import { coordinatorElection as protocol } from '../src/protocols/election/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** The election of a role's coordinator: `synod:{room}:coordinator:{role}`. Started with `{ room, config? }`; never completes by itself. */
export async function coordinatorElection(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
