import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Fate } from './fates.ts';
import { submission, type ResultStore } from './store.ts';

const fromAgent = z.discriminatedUnion('kind', [
  z.object({ ask: z.string(), kind: z.literal('begin'), taskId: z.string(), token: z.number() }),
  z.object({ ask: z.string(), kind: z.literal('write'), submission }),
]);
/** What an agent tells its parent. */
export type FromAgent = z.infer<typeof fromAgent>;

export interface CrewOptions {
  /** The agents' program, beside this file, and its arguments behind the agent's id. */
  readonly program: 'agent.ts' | 'loner.ts';
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly store: ResultStore;
  /** Decides at each beginning. */
  readonly fate: (agent: string, taskId: string, token: number) => Promise<Fate>;
  /** A result was written, or refused for a reason. */
  readonly onWrite: (agent: string, taskId: string, refused: string | undefined) => void;
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
    if (message.kind === 'begin') {
      const fate = await this.#options.fate(id, message.taskId, message.token);
      if (fate === 'kill') return this.kill(id);
      if (fate === 'stop') this.stop(id);
      answer();
      return;
    }
    const { taskId } = message.submission;
    try {
      this.#options.store.write(message.submission);
      answer();
      this.#options.onWrite(id, taskId, undefined);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      answer(reason);
      this.#options.onWrite(id, taskId, reason);
    }
  }
}
