import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { startChild, type OwnedChild } from '../../src/dev/child.ts';

const main = fileURLToPath(new URL('locker.main.ts', import.meta.url));
const turns = z.array(z.tuple([z.string(), z.number()]));

/** What agents of a process ask for. */
export interface Locking {
  readonly room: string;
  /** The agents are `{name}-0` and so on; of a process that writes, `name`. */
  readonly name: string;
  readonly agents?: number;
  readonly resource: string;
  readonly leaseSeconds?: number;
  readonly waitSeconds?: number;
  /** Once granted, it is held until the process ends. */
  readonly hold?: boolean;
  /** The port of a guard, through which it writes under the lock until the guard has enough. */
  readonly guard?: number;
}

/** A process whose agents take a lock each. It ends with this one. */
export class Lockers {
  readonly child: OwnedChild;
  readonly #ended: Promise<never>;

  private constructor(child: OwnedChild) {
    this.child = child;
    this.#ended = child.exited.then(() => Promise.reject(new Error(`agents have ended: ${child.tail()}`)));
    this.#ended.catch(() => undefined);
  }

  /** Starts it; its agents ask as soon as it is up. */
  static async start(address: string, locking: Locking): Promise<Lockers> {
    const { room, name, agents = 1, resource, ...options } = locking;
    const args = ['--import', 'tsx', main, address, room, name, String(agents), resource, JSON.stringify(options)];
    return new Lockers(await startChild(process.execPath, args));
  }

  async said(pattern: RegExp): Promise<void> {
    await Promise.race([this.child.said(pattern), this.#ended]);
  }

  /** Who had its turn, with which token, in the order of this process. */
  async served(): Promise<[string, number][]> {
    await this.child.exited;
    const line = /^served (.*)$/m.exec(this.child.tail())?.[1];
    if (line === undefined) throw new Error(`agents have ended early: ${this.child.tail()}`);
    return turns.parse(JSON.parse(line));
  }

  /** Stops it where it stands, and lets it go on. */
  pause(): void {
    process.kill(this.child.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.child.pid, 'SIGCONT');
  }
}
