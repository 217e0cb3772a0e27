import type { Client } from '@temporalio/client';
import type { LockOptions } from '../../src/in-workflow/index.ts';
import type { holder } from '../users/workflows.ts';
import { say, Wire, type Envelope } from './wire.ts';

export function options(room: string, more: Partial<LockOptions> = {}): LockOptions {
  return { room, type: 'exclusive', ...more };
}

/** Workflows of a user's that hold locks of `report`, and the lock managers of their rooms. */
export class LockUsers {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  managerOf(room: string, config: object = {}): Wire {
    return new Wire(this.#client, 'lockManager', `synod:${room}:locks`, room, { config: { ...config } });
  }

  async hold(room: string, id: string, forMs: number, more: Partial<LockOptions> = {}) {
    return await this.#client.workflow.start<typeof holder>('holder', {
      workflowId: `${room} ${id}`,
      taskQueue: 'synod',
      args: ['report', options(room, more), forMs],
    });
  }

  /** Whether another gets the lock at once; it gives it back. */
  async isFree(room: string): Promise<boolean> {
    const manager = this.managerOf(room);
    const [reply] = await manager.ask(
      say('lock.request', 'probe', { resources: ['report'], lock_type: 'exclusive', wait_seconds: 0 }),
    );
    if (reply?.type === 'lock.granted') await manager.ask(say('lock.release', 'probe', { lock_id: reply['lock_id'] }));
    return reply?.type === 'lock.granted';
  }

  /** All grants, once there are so many. */
  async grantsOf(room: string, count: number): Promise<Envelope[]> {
    const log = async () =>
      await this.managerOf(room)
        .log()
        .catch(() => []);
    const grants = async () =>
      (await log()).map(({ envelope }) => envelope).filter(({ type }) => type === 'lock.granted');
    while ((await grants()).length < count) await new Promise((resolve) => setTimeout(resolve, 50));
    return await grants();
  }
}
