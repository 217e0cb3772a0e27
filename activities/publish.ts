import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { PublishInput } from '../src/envelope/activities.ts';
import { workflowIdOf } from '../src/envelope/address.ts';
import { MAX_REQUEST_BYTES } from '../src/envelope/limits.ts';
import type { Publication } from '../src/envelope/room.ts';

/** One signal a room and so many milliseconds at most, over all workflows of this worker: a thousand tasks cost a room ten signals a second. */
const FLUSH_INTERVAL_MS = 100;

interface Waiting {
  readonly publication: Publication;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** What is to be published to one room, sent in one signal. */
class RoomPublisher {
  readonly #client: Client;
  readonly #room: string;
  readonly #taskQueue: string;
  #waiting: Waiting[] = [];
  #flushing = false;
  #last = Number.NEGATIVE_INFINITY;

  constructor(client: Client, room: string, taskQueue: string) {
    this.#client = client;
    this.#room = room;
    this.#taskQueue = taskQueue;
  }

  async publish(publication: Publication): Promise<void> {
    const bytes = Buffer.byteLength(JSON.stringify(publication));
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ publication, bytes, resolve, reject });
      if (!this.#flushing) void this.#flush();
    });
  }

  get idle(): boolean {
    return this.#waiting.length === 0 && !this.#flushing;
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    while (this.#waiting.length > 0) {
      const pause = this.#last + FLUSH_INTERVAL_MS - performance.now();
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      this.#last = performance.now();
      const batch = this.#next();
      try {
        await this.#signal(batch.map(({ publication }) => publication));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#flushing = false;
  }

  /** As many as fit into one signal, at least one. */
  #next(): Waiting[] {
    let bytes = 0;
    const fits = this.#waiting.findIndex((one, i) => (bytes += one.bytes) > MAX_REQUEST_BYTES && i > 0);
    return this.#waiting.splice(0, fits < 0 ? this.#waiting.length : fits);
  }

  async #signal(publications: readonly Publication[]): Promise<void> {
    await this.#client.workflow.signalWithStart('room', {
      workflowId: workflowIdOf(this.#room, 'room'),
      taskQueue: this.#taskQueue,
      args: [{ room: this.#room }],
      signal: 'publish',
      signalArgs: [publications],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
  }
}

/**
 * The activity that publishes to a room what one of its primitives has logged, and starts the room where it does not run yet.
 * Repeats are harmless: the room drops what it knows by source and sequence number.
 */
export function createPublisher(): { synodPublish(input: PublishInput): Promise<void> } {
  const publishers = new Map<string, RoomPublisher>();
  return {
    async synodPublish({ room, publication }) {
      const { client, info } = Context.current();
      const key = `${info.activityNamespace} ${info.taskQueue} ${room}`;
      const publisher = publishers.get(key) ?? new RoomPublisher(client, room, info.taskQueue);
      publishers.set(key, publisher);
      try {
        await publisher.publish(publication);
      } finally {
        if (publisher.idle) publishers.delete(key);
      }
    },
  };
}
