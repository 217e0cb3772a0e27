import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Outcome } from './outcomes.ts';
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
/** What an agent sends to its parent. */
export type FromAgent = z.infer<typeof fromAgent>;

export interface AgentProcessesOptions {
  /** The agents' program, beside this file, and its arguments behind the agent's id. */
  readonly program: 'agent.ts' | 'baseline.ts';
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Handles a message of an agent and decides what happens to the agent. An error is sent back as the answer. */
  readonly onMessage: (agent: string, message: FromAgent) => Promise<Outcome>;
  /** An agent has ended that was not killed; `well` where its exit code was 0. */
  readonly onEnded: (agent: string, how: string, well: boolean) => void;
}

/** The agents as processes. */
export class AgentProcesses {
  readonly #options: AgentProcessesOptions;
  readonly #agents = new Map<string, ChildProcess>();
  readonly #killed = new Set<string>();
  readonly #stopped = new Set<string>();
  #ending = false;
  #over = false;

  constructor(options: AgentProcessesOptions) {
    this.#options = options;
    // However this process ends, none of them remains, not even one that is stopped.
    process.once('exit', () => this.#agents.forEach((child) => child.kill('SIGKILL')));
  }

  start(id: string): void {
    const { program, args, env, onEnded } = this.#options;
    const child = fork(fileURLToPath(new URL(`./${program}`, import.meta.url)), [id, ...args], {
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#agents.set(id, child);
    child.on('message', (message) => void this.#onMessage(id, child, fromAgent.parse(message)));
    child.once('exit', (code, signal) => {
      if (this.#ending || this.#killed.has(id)) return;
      onEnded(id, signal ?? `exit code ${code}`, code === 0);
    });
  }

  /** The agents that are neither killed nor stopped. */
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

  /** Resumes an agent that was stopped. */
  resume(id: string): void {
    this.#stopped.delete(id);
    this.#agents.get(id)?.kill('SIGCONT');
  }

  /** Resolves when an agent has ended by itself. */
  async ended(id: string): Promise<void> {
    const child = this.#agents.get(id);
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  /** Ends all of them; a stopped one is resumed first, and one that does not end within 5 s is killed. */
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
    // Their last messages may still arrive: the store is closed by then.
    this.#over = true;
  }

  async #onMessage(id: string, child: ChildProcess, message: FromAgent): Promise<void> {
    if (this.#over) return;
    const answer = (error?: string) => child.connected && child.send({ to: message.ask, error }, () => undefined);
    try {
      const outcome = await this.#options.onMessage(id, message);
      if (outcome === 'kill') return this.kill(id);
      if (outcome === 'stop') this.stop(id);
      answer();
    } catch (error) {
      answer(error instanceof Error ? error.message : String(error));
    }
  }
}
