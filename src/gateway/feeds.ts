import type { SharedConnection } from '../client/connection/sharedConnection.ts';
import { Feed } from './feed.ts';
import { Problem } from './errors.ts';

/** Logs that one gateway follows at once. */
const MAX_FEEDS = 1_000;

/** The logs that this gateway follows; each is opened by its first reader, and closed a minute after its last. */
export class Feeds {
  readonly #connection: SharedConnection;
  readonly #open = new Map<string, Feed>();

  constructor(connection: SharedConnection) {
    this.#connection = connection;
  }

  get size(): number {
    return this.#open.size;
  }

  /** @throws Problem `unavailable` where there are too many. */
  of(workflowId: string): Feed {
    const known = this.#open.get(workflowId);
    if (known) return known;
    if (this.#open.size >= MAX_FEEDS)
      throw new Problem('unavailable', `${MAX_FEEDS} logs are being read here: come again in a minute`, {
        headers: { 'retry-after': '60' },
      });
    const feed = new Feed(this.#connection, workflowId, () => {
      if (this.#open.get(workflowId) === feed) this.#open.delete(workflowId);
    });
    this.#open.set(workflowId, feed);
    return feed;
  }

  /** The log, where it is being followed. */
  known(workflowId: string): Feed | undefined {
    return this.#open.get(workflowId);
  }

  close(): void {
    for (const feed of this.#open.values()) feed.close();
  }
}
