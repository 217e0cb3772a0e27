import { Crew, type FromAgent } from './crew.ts';
import { Fates, fired, type Fate } from './fates.ts';
import { AGENTS, DOOMED, SLEEPY, type Stage } from './stage.ts';
import type { ResultStore } from './store.ts';
import type { Mishap } from './story.ts';

/** A directive that came too late. */
export interface RefusedDirective {
  readonly agent: string;
  readonly epoch: number;
  readonly reason: string;
}

/**
 * What happens to whom in the second act. The first coordinator is stopped while it writes to the report: it holds a task,
 * the report's lock and the first epoch. The second is killed when it has led for a while, holding a task. Each is
 * made to wait with its next directive until its time has come, so that it always is in the middle of its work.
 */
export class Director {
  readonly mishaps: Mishap[] = [];
  readonly refusedDirectives: RefusedDirective[] = [];
  readonly crew: Crew;
  readonly #stage: Stage;
  readonly #store: ResultStore;
  readonly #fates: Fates;
  readonly #holds = new Map<string, string>();
  /** At its next piece of this task an agent falls asleep. */
  readonly #tired = new Map<string, string>();
  readonly #asleep = new Map<string, string>();
  readonly #lost = new Map(AGENTS.map((id) => [id, new AbortController()]));
  /** Who has issued a directive, who has begun a task, whose late word came. */
  readonly #led = new Map(AGENTS.map((id) => [id, new AbortController()]));
  readonly #begun = new Map(AGENTS.map((id) => [id, new AbortController()]));
  /** Whose next directive is held back. */
  readonly #asking = new Map(AGENTS.map((id) => [id, new AbortController()]));
  readonly #lateWrite = new AbortController();
  readonly #lateDirective = new AbortController();

  /** @param batch how many tasks a directive has at least. */
  constructor(stage: Stage, store: ResultStore, args: readonly string[], env: NodeJS.ProcessEnv, batch: number) {
    this.#stage = stage;
    this.#store = store;
    this.#fates = new Fates({ [DOOMED]: 'kill', [SLEEPY]: 'stop' }, AGENTS.length, 0, batch);
    this.crew = new Crew({
      program: 'agent.ts',
      args,
      env,
      hear: async (agent, message) => await this.#hear(agent, message),
      onEnded: (agent, how) => stage.fail(new Error(`${agent} has ended by itself: ${how}`)),
    });
    stage.cleanUp(() => this.crew.end());
  }

  /** Starts the agents; the first to stand for election leads, and it is the one that falls asleep. */
  async start(): Promise<void> {
    this.crew.start(SLEEPY);
    await fired(AbortSignal.any([this.#stage.signal, this.#of(this.#led, SLEEPY).signal]));
    for (const id of AGENTS) if (id !== SLEEPY) this.crew.start(id);
  }

  /** Who did not survive. */
  get dead(): readonly string[] {
    return this.mishaps.filter(({ kind }) => kind === 'kill').map(({ agent }) => agent);
  }

  /** A task has ended: who fell asleep over it is woken, once another leads in its place. */
  ended(taskId: string): void {
    if (this.#asleep.get(SLEEPY) === taskId) void this.#wake(taskId);
  }

  async #wake(taskId: string): Promise<void> {
    const others = AGENTS.filter((id) => id !== SLEEPY).map((id) => this.#of(this.#led, id).signal);
    await fired(AbortSignal.any([this.#stage.signal, ...others]));
    this.#stage.tell(`${SLEEPY} is woken: somebody else has done ${taskId} meanwhile`);
    this.crew.resume(SLEEPY);
  }

  /** Waits for the late words of who was woken. */
  async lateWords(): Promise<void> {
    if (!this.#asleep.has(SLEEPY) || !this.crew.active.includes(SLEEPY)) return;
    for (const { signal } of [this.#lateWrite, this.#lateDirective])
      await fired(AbortSignal.any([signal, this.#stage.signal]));
  }

  /** The visitor's doing: one that still can is killed, or stopped for a while. */
  strike(kind: Mishap['kind'], pauseMs = 0): void {
    const able = this.crew.active.filter((id) => kind === 'kill' || id !== SLEEPY);
    const agent = kind === 'kill' ? able.at(-1) : able[0];
    if (agent === undefined || this.crew.active.length < 2)
      return this.#stage.tell(`${able.length === 0 ? 'nobody is' : 'only one agent is'} left for that: it is spared`);
    this.#spare(agent);
    this.#mishap(kind, agent, this.#holds.get(agent) ?? 'nothing');
    if (kind === 'kill') return this.crew.kill(agent);
    this.crew.stop(agent);
    setTimeout(() => {
      this.#stage.tell(`${agent} is woken`);
      this.crew.resume(agent);
    }, pauseMs).unref();
  }

  async #hear(agent: string, message: FromAgent): Promise<Fate> {
    switch (message.kind) {
      case 'begin':
        return await this.#begins(agent, message.taskId, message.token);
      case 'add':
        return this.#write(agent, message.piece.taskId, () => this.#store.add(agent, message.piece));
      case 'write':
        return this.#write(agent, message.submission.taskId, () => this.#store.write(message.submission), true);
      case 'direct':
        if (!this.#of(this.#led, agent).signal.aborted || (agent !== SLEEPY && agent !== DOOMED)) return 'go on';
        this.#of(this.#asking, agent).abort();
        await fired(AbortSignal.any([this.#stage.signal, this.#of(this.#lost, agent).signal]));
        return 'go on';
      case 'directed':
        this.#directed(agent, message.epoch, message.tasks, message.refused);
        return 'go on';
    }
  }

  async #begins(agent: string, taskId: string, token: number): Promise<Fate> {
    this.#holds.set(agent, taskId);
    this.#store.begins(taskId, token);
    this.#of(this.#begun, agent).abort();
    const { signal } = this.#stage;
    const met = await this.#fates.at(agent, taskId, token, signal, async (fate, spared) => {
      const until =
        fate === 'kill' ? [this.#of(this.#led, agent)] : [...this.#begun.values(), this.#of(this.#asking, agent)];
      for (const event of until) await fired(AbortSignal.any([spared, event.signal]));
      return true;
    });
    if (met === 'kill') this.#mishap('kill', agent, taskId);
    if (met !== 'stop') return met;
    this.#tired.set(agent, taskId);
    return 'go on';
  }

  #write(agent: string, taskId: string, write: () => void, last = false): Fate {
    const late = this.#asleep.get(agent) === taskId;
    try {
      write();
    } catch (error) {
      this.#stage.tell(`the late write of ${agent} on ${taskId} is refused: ${String(error)}`);
      throw error;
    } finally {
      if (last) this.#holds.delete(agent);
      // Accepted or not: the summary tells which.
      if (late) this.#lateWrite.abort();
    }
    if (this.#tired.get(agent) !== taskId) return 'go on';
    this.#tired.delete(agent);
    this.#asleep.set(agent, taskId);
    this.#mishap('stop', agent, taskId);
    return 'stop';
  }

  #directed(agent: string, epoch: number, tasks: readonly string[], refused: string | undefined): void {
    if (refused === undefined) {
      this.#fates.grow(tasks.length);
      this.#of(this.#led, agent).abort();
    } else {
      this.#stage.tell(`the directive of ${agent}, of epoch ${epoch}, is refused: ${refused}`);
      this.refusedDirectives.push({ agent, epoch, reason: refused });
    }
    if (this.#asleep.has(agent)) this.#lateDirective.abort();
  }

  #mishap(kind: Mishap['kind'], agent: string, taskId: string): void {
    this.mishaps.push({ kind, agent, taskId });
    this.#of(this.#lost, agent).abort();
    this.#stage.tell(`${agent} is ${kind === 'kill' ? 'killed' : 'stopped'} while it holds ${taskId}`);
  }

  #spare(agent: string): void {
    this.#fates.spare(agent);
    this.#tired.delete(agent);
    this.#of(this.#lost, agent).abort();
    // Nobody waits for one that may never come.
    this.#of(this.#begun, agent).abort();
  }

  #of(events: ReadonlyMap<string, AbortController>, agent: string): AbortController {
    const event = events.get(agent);
    if (!event) throw new Error(`${agent} does not play here`);
    return event;
  }
}
