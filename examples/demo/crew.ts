import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Fate } from './fates.ts';
import { piece, submission } from './store.ts';

const ask = z.string();
const directive = { ask, epoch: z.number(), tasks: z.array(z.string()) };
const fromAgent = z.discriminatedUnion('kind', [
  z.object({ ask, kind: z.literal('begin'), taskId: z.string(), token: z.number() }),
  z.object({ ask, kind: z.literal('add'), piece }),
  z.object({ ask, kind: z.literal('write'), submission }),
  /** A coordinator is about to issue a directive. */
  z.object({ ...directive, kind: z.literal('direct') }),
  /** It has; `refused` says why it was not accepted. */
  z.object({ ...directive, kind: z.literal('directed'), refused: z.string().optional() }),
]);
/** What an agent tells its parent. */
export type FromAgent = z.infer<typeof fromAgent>;

export interface CrewOptions {
  /** The agents' program, beside this file, and its arguments behind the agent's id. */
  readonly program: 'agent.ts' | 'loner.ts';
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Hears what an agent says and decides what becomes of it. What it throws is the agent's answer. */
  readonly hear: (agent: string, message: FromAgent) => Promise<Fate>;
  /** An agent has ended that nobody has killed; `well` where it said that it had nothing left to do. */
  readonly onEnded: (agent: string, how: string, well: boolean) => void;
}

/** The agents as processes. */
export class Crew {
  readonly #options: CrewOptions;
  readonly #agents = new Map<string, ChildProcess>();
  readonly #killed = new Set<string>();
  readonly #stopped = new Set<string>();
  #ending = false;
  #over = false;

  constructor(options: CrewOptions) {
    this.#options = options;
    // However this process ends, none of them stays, not even one that is stopped.
    process.once('exit', () => this.#agents.forEach((child) => child.kill('SIGKILL')));
  }

  start(id: string): void {
    const { program, args, env, onEnded } = this.#options;
    const child = fork(fileURLToPath(new URL(`./${program}`, import.meta.url)), [id, ...args], {
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#agents.set(id, child);
    child.on('message', (message) => void this.#hear(id, child, fromAgent.parse(message)));
    child.once('exit', (code, signal) => {
      if (this.#ending || this.#killed.has(id)) return;
      onEnded(id, signal ?? `exit code ${code}`, code === 0);
    });
  }

  /** The agents that live and are not stopped. */
  get active(): string[] {
    return [...this.#agents.keys()].filter((id) => !this.#killed.has(id) && !this.#stopped.has(id));
  }

  kill(id: string): void {
    this.#killed.add(id);
    this.#agents.get(id)?.kill('SIGKILL');
  }

  stop(id: string): void {
    this.#stopped.add(id);
    this.#agents.get(id)?.kill('SIGSTOP');
  }

  /** Wakes an agent that was stopped. */
  resume(id: string): void {
    this.#stopped.delete(id);
    this.#agents.get(id)?.kill('SIGCONT');
  }

  /** Resolves when an agent has ended by itself. */
  async ended(id: string): Promise<void> {
    const child = this.#agents.get(id);
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  /** Ends all of them; a stopped one is woken first, and who does not end is killed. */
  async end(): Promise<void> {
    this.#ending = true;
    await Promise.all(
      [...this.#agents.values()].map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        child.kill('SIGCONT');
        child.kill('SIGTERM');
        const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
        await gone;
        clearTimeout(late);
      }),
    );
    // What they have said last may still be on its way: there is nothing left to write it to.
    this.#over = true;
  }

  async #hear(id: string, child: ChildProcess, message: FromAgent): Promise<void> {
    if (this.#over) return;
    const answer = (error?: string) => child.connected && child.send({ to: message.ask, error }, () => undefined);
    try {
      const fate = await this.#options.hear(id, message);
      if (fate === 'kill') return this.kill(id);
      if (fate === 'stop') this.stop(id);
      answer();
    } catch (error) {
      answer(error instanceof Error ? error.message : String(error));
    }
  }
}
