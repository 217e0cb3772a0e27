import { EventEmitter, once } from 'node:events';
import { z } from 'zod';
import type { LogEvent } from '../../envelope/calls.ts';
import { SYNOD, type Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { boardPage } from '../../envelope/room.ts';

/** A task that may be open. */
export interface Candidate {
  readonly taskId: string;
  readonly priority: number;
  readonly since: string;
  readonly capabilities: readonly string[];
  /** Its announcement, where it came by the log; the board has none. */
  readonly announcement?: Envelope;
  /** Fires when somebody else has it, or it has ended. */
  readonly gone: AbortController;
}

const announcement = z.object({
  type: z.literal('task.announce'),
  task_id: z.string(),
  priority: z.number().default(3),
  capabilities: z.array(z.string()).default([]),
});
const TAKEN = new Set(['task.closed', 'task.completed', 'task.failed', 'task.cancelled']);

/** The open tasks of a room as one process knows them: from the log as they come, and from the board for what came before. */
export class Candidates {
  readonly #can: ReadonlySet<string>;
  readonly #open = new Map<string, Candidate>();
  /** Taken, and about to be claimed. */
  readonly #watched = new Set<Candidate>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  /** @param capabilities what the workers can do; a task that asks for more is passed over. */
  constructor(capabilities: readonly string[]) {
    this.#can = new Set(capabilities);
  }

  /** Takes notice of what the room's log says. */
  note({ envelope }: LogEvent, now: string): void {
    const taskId = envelope['task_id'];
    if (typeof taskId !== 'string') return;
    if (TAKEN.has(envelope.type) && envelope.to === undefined) this.drop(taskId);
    const announced = announcement.safeParse(envelope);
    if (!announced.success) return;
    // What is announced again, by the primitive, has waited longest.
    const since = envelope.from === SYNOD ? '' : now;
    const { priority, capabilities } = announced.data;
    this.#add({ taskId, priority, capabilities, since, announcement: envelope, gone: new AbortController() });
  }

  /** Takes notice of the board, page by page; the board is asked for by `view`. */
  async refresh(view: (query: { [field: string]: Json }) => Promise<unknown>): Promise<void> {
    let after: string | undefined;
    do {
      const seen = await view({ board: true, kind: 'task', status: 'open', ...(after === undefined ? {} : { after }) });
      // No room yet. A page that cannot be read is no empty one: it throws.
      if (seen === undefined) return;
      const page = boardPage.parse(seen);
      for (const row of page.rows) {
        const known = this.#open.get(row.id);
        this.#add({
          taskId: row.id,
          priority: row.priority ?? 3,
          since: row.since,
          capabilities: row.capabilities ?? [],
          ...(known?.announcement ? { announcement: known.announcement } : {}),
          gone: known?.gone ?? new AbortController(),
        });
      }
      after = page.next;
    } while (after !== undefined);
  }

  /** Takes the most urgent, then the longest open one away. */
  take(): Candidate | undefined {
    let best: Candidate | undefined;
    for (const candidate of this.#open.values()) if (!best || before(candidate, best)) best = candidate;
    if (best) this.#open.delete(best.taskId);
    return best;
  }

  /** Gives back one that was taken and is not claimed after all. */
  giveBack(candidate: Candidate): void {
    if (!candidate.gone.signal.aborted) this.#add(candidate);
  }

  drop(taskId: string): void {
    this.#open.get(taskId)?.gone.abort();
    this.#open.delete(taskId);
    for (const watched of this.#watched) if (watched.taskId === taskId) watched.gone.abort();
  }

  /** While a taken candidate is watched, it learns that somebody else has it. */
  watch(candidate: Candidate): () => void {
    this.#watched.add(candidate);
    return () => this.#watched.delete(candidate);
  }

  /** Resolves when there may be something to take, or when the signal fires. */
  async changed(signal: AbortSignal): Promise<void> {
    if (this.#open.size > 0 || signal.aborted) return;
    await once(this.#changes, 'added', { signal }).catch(() => undefined);
  }

  #add(candidate: Candidate): void {
    if (candidate.capabilities.some((needed) => !this.#can.has(needed))) return;
    this.#open.set(candidate.taskId, candidate);
    this.#changes.emit('added');
  }
}

function before(a: Candidate, b: Candidate): boolean {
  if (a.priority !== b.priority) return a.priority < b.priority;
  return a.since === b.since ? a.taskId < b.taskId : a.since < b.since;
}
