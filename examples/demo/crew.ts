import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { submission, type ResultStore } from './store.ts';

const fromAgent = z.discriminatedUnion('kind', [
  z.object({ ask: z.string(), kind: z.literal('begin'), taskId: z.string(), token: z.number() }),
  z.object({ ask: z.string(), kind: z.literal('write'), submission }),
]);
/** What an agent tells its parent. */
export type FromAgent = z.infer<typeof fromAgent>;

/** What the crew does to an agent that has just begun a task, holding its lease. */
export type Fate = 'go on' | 'kill' | 'stop';

export interface CrewOptions {
  readonly room: string;
  readonly env: NodeJS.ProcessEnv;
  readonly store: ResultStore;
  /** Decides at each beginning. */
  readonly fate: (agent: string, taskId: string, token: number) => Fate;
  readonly onRefused: (agent: string, taskId: string, reason: string) => void;
}

/** The agents as processes. */
export class Crew {
  readonly #options: CrewOptions;
  readonly #agents = new Map<string, ChildProcess>();

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  start(id: string): void {
    const { room, env } = this.#options;
    const child = fork(fileURLToPath(new URL('./agent.ts', import.meta.url)), [id, room], {
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#agents.set(id, child);
    child.on('message', (message) => this.#hear(id, child, fromAgent.parse(message)));
  }

  /** Wakes an agent that was stopped. */
  resume(id: string): void {
    this.#agents.get(id)?.kill('SIGCONT');
  }

  /** Ends all of them; a stopped one is woken first, and who does not end is killed. */
  async end(): Promise<void> {
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
  }

  #hear(id: string, child: ChildProcess, message: FromAgent): void {
    const answer = (error?: string) => child.connected && child.send({ to: message.ask, error }, () => undefined);
    if (message.kind === 'begin') {
      const fate = this.#options.fate(id, message.taskId, message.token);
      if (fate === 'kill') return void child.kill('SIGKILL');
      if (fate === 'stop') child.kill('SIGSTOP');
      answer();
      return;
    }
    try {
      this.#options.store.write(message.submission);
      answer();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.onRefused(id, message.submission.taskId, reason);
      answer(reason);
    }
  }
}
