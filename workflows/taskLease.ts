import { taskLease as protocol } from '../src/protocols/task-lease/protocol.ts';
import type { HostResult } from '../src/host/host.ts';
import { runHost } from './host.ts';

/** One task: `synod:{room}:task:{task_id}`. Started with `{ room, config? }`, opened by `task.announce`. */
export async function taskLease(start: unknown): Promise<HostResult> {
  return await runHost(protocol, start);
}
