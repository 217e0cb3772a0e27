import { quorumProposal as protocol } from '../src/protocols/quorum/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** One decision: `synod:{room}:proposal:{proposal_id}`. Started with `{ room, config? }`, opened by `decision.propose`. */
export async function quorumProposal(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
