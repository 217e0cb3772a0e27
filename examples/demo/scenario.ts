import { AgentProcesses, type FromAgent } from './agentProcesses.ts';
import { PlannedOutcomes, fired, type Outcome } from './outcomes.ts';
import { AGENTS, KILLED_AGENT, STOPPED_AGENT, type DemoContext } from './context.ts';
import type { ResultStore } from './store.ts';
import type { InjectedFault } from './timeline.ts';

/** A directive that came too late. */
export interface RefusedDirective {
  readonly agent: string;
  readonly epoch: number;
  readonly reason: string;
}

/**
 * Runs the agents of the second act and injects the faults. The first coordinator is stopped while it writes to the
 * report: it holds a task, the report's lock and the first epoch. The second is killed after it has led for a while,
 * holding a task. The next directive of each is held back until then, so that it always is in the middle of its work.
 */
export class Scenario {
  readonly injectedFaults: InjectedFault[] = [];
  readonly refusedDirectives: RefusedDirective[] = [];
  readonly processes: AgentProcesses;
  readonly #context: DemoContext;
  readonly #store: ResultStore;
  readonly #outcomes: PlannedOutcomes;
  readonly #holds = new Map<string, string>();
  /** An agent is stopped when it writes the next piece of this task. */
  readonly #toStop = new Map<string, string>();
  readonly #stopped = new Map<string, string>();
  readonly #lost = new Map(AGENTS.map((id) => [id, new AbortController()]));
  /** Who has issued a directive, who has started a task. */
  readonly #led = new Map(AGENTS.map((id) => [id, new AbortController()]));
  readonly #begun = new Map(AGENTS.map((id) => [id, new AbortController()]));
  /** Whose next directive is held back. */
  readonly #asking = new Map(AGENTS.map((id) => [id, new AbortController()]));
  readonly #lateWrite = new AbortController();
  readonly #lateDirective = new AbortController();

  /** @param batch how many tasks a directive has at least. */
  constructor(
    context: DemoContext,
    store: ResultStore,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    batch: number,
  ) {
    this.#context = context;
    this.#store = store;
    this.#outcomes = new PlannedOutcomes({ [KILLED_AGENT]: 'kill', [STOPPED_AGENT]: 'stop' }, AGENTS.length, 0, batch);
    this.processes = new AgentProcesses({
      program: 'agent.ts',
      args,
      env,
      onMessage: async (agent, message) => await this.#onMessage(agent, message),
      onEnded: (agent, how) => context.fail(new Error(`${agent} ended unexpectedly: ${how}`)),
    });
    context.cleanUp(() => this.processes.end());
  }

  /** Starts the agents; the first to stand for election leads, and it is the one that is stopped later. */
  async start(): Promise<void> {
    this.processes.start(STOPPED_AGENT);
    await fired(AbortSignal.any([this.#context.signal, this.#of(this.#led, STOPPED_AGENT).signal]));
    for (const id of AGENTS) if (id !== STOPPED_AGENT) this.processes.start(id);
  }

  /** The agents that were killed. */
  get dead(): readonly string[] {
    return this.injectedFaults.filter(({ kind }) => kind === 'kill').map(({ agent }) => agent);
  }

  /** A task has ended: the agent that was stopped while it held it is resumed, once another leads in its place. */
  ended(taskId: string): void {
    if (this.#stopped.get(STOPPED_AGENT) === taskId) void this.#resume(taskId);
  }

  async #resume(taskId: string): Promise<void> {
    const others = AGENTS.filter((id) => id !== STOPPED_AGENT).map((id) => this.#of(this.#led, id).signal);
    await fired(AbortSignal.any([this.#context.signal, ...others]));
    this.#context.highlight(`${STOPPED_AGENT} is resumed: another agent has done ${taskId} meanwhile`);
    this.processes.resume(STOPPED_AGENT);
  }

  /** Waits for the late write and the late directive of the resumed agent. */
  async lateMessages(): Promise<void> {
    if (!this.#stopped.has(STOPPED_AGENT) || !this.processes.active.includes(STOPPED_AGENT)) return;
    for (const { signal } of [this.#lateWrite, this.#lateDirective])
      await fired(AbortSignal.any([signal, this.#context.signal]));
  }

  /** A key was pressed: an agent that is active is killed, or stopped for a while. */
  inject(kind: InjectedFault['kind'], pauseMs = 0): void {
    const able = this.processes.active.filter((id) => kind === 'kill' || id !== STOPPED_AGENT);
    const agent = kind === 'kill' ? able.at(-1) : able[0];
    if (agent === undefined || this.processes.active.length < 2)
      return this.#context.highlight(
        `${able.length === 0 ? 'nobody is' : 'only one agent is'} active: no fault is injected`,
      );
    this.#cancelPlanned(agent);
    this.#inject(kind, agent, this.#holds.get(agent) ?? 'nothing');
    if (kind === 'kill') return this.processes.kill(agent);
    this.processes.stop(agent);
    setTimeout(() => {
      this.#context.highlight(`${agent} is resumed`);
      this.processes.resume(agent);
    }, pauseMs).unref();
  }

  async #onMessage(agent: string, message: FromAgent): Promise<Outcome> {
    switch (message.kind) {
      case 'begin':
        return await this.#begins(agent, message.taskId, message.token);
      case 'add':
        return this.#write(agent, message.piece.taskId, () => this.#store.add(agent, message.piece));
      case 'write':
        return this.#write(agent, message.submission.taskId, () => this.#store.write(message.submission), true);
      case 'direct':
        if (!this.#of(this.#led, agent).signal.aborted || (agent !== STOPPED_AGENT && agent !== KILLED_AGENT))
          return 'go on';
        this.#of(this.#asking, agent).abort();
        await fired(AbortSignal.any([this.#context.signal, this.#of(this.#lost, agent).signal]));
        return 'go on';
      case 'directed':
        this.#directed(agent, message.epoch, message.tasks, message.refused);
        return 'go on';
    }
  }

  async #begins(agent: string, taskId: string, token: number): Promise<Outcome> {
    this.#holds.set(agent, taskId);
    this.#store.begins(taskId, token);
    this.#of(this.#begun, agent).abort();
    const { signal } = this.#context;
    const met = await this.#outcomes.at(agent, taskId, token, signal, async (outcome, cancelled) => {
      const until =
        outcome === 'kill' ? [this.#of(this.#led, agent)] : [...this.#begun.values(), this.#of(this.#asking, agent)];
      for (const event of until) await fired(AbortSignal.any([cancelled, event.signal]));
      return true;
    });
    if (met === 'kill') this.#inject('kill', agent, taskId);
    if (met !== 'stop') return met;
    this.#toStop.set(agent, taskId);
    return 'go on';
  }

  #write(agent: string, taskId: string, write: () => void, last = false): Outcome {
    const late = this.#stopped.get(agent) === taskId;
    try {
      write();
    } catch (error) {
      this.#context.highlight(`the late write of ${agent} on ${taskId} is refused: ${String(error)}`);
      throw error;
    } finally {
      if (last) this.#holds.delete(agent);
      // Accepted or not: the summary says which.
      if (late) this.#lateWrite.abort();
    }
    if (this.#toStop.get(agent) !== taskId) return 'go on';
    this.#toStop.delete(agent);
    this.#stopped.set(agent, taskId);
    this.#inject('stop', agent, taskId);
    return 'stop';
  }

  #directed(agent: string, epoch: number, tasks: readonly string[], refused: string | undefined): void {
    if (refused === undefined) {
      this.#outcomes.grow(tasks.length);
      this.#of(this.#led, agent).abort();
    } else {
      this.#context.highlight(`the directive of ${agent}, of epoch ${epoch}, is refused: ${refused}`);
      this.refusedDirectives.push({ agent, epoch, reason: refused });
    }
    if (this.#stopped.has(agent)) this.#lateDirective.abort();
  }

  #inject(kind: InjectedFault['kind'], agent: string, taskId: string): void {
    this.injectedFaults.push({ kind, agent, taskId });
    this.#of(this.#lost, agent).abort();
    this.#context.highlight(`${agent} is ${kind === 'kill' ? 'killed' : 'stopped'} while it holds ${taskId}`);
  }

  #cancelPlanned(agent: string): void {
    this.#outcomes.cancel(agent);
    this.#toStop.delete(agent);
    this.#of(this.#lost, agent).abort();
    // Nobody waits for one that may never come.
    this.#of(this.#begun, agent).abort();
  }

  #of(events: ReadonlyMap<string, AbortController>, agent: string): AbortController {
    const event = events.get(agent);
    if (!event) throw new Error(`${agent} is no agent of this demo`);
    return event;
  }
}
