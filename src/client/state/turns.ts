import type { SharedConnection } from '../connection/sharedConnection.ts';

/** The last of those of this process who change a key, by connection and key. */
const last = new WeakMap<SharedConnection, Map<string, Promise<void>>>();

/**
 * Lets the agents of one process change a key one after the other. Each would otherwise read the same version as all others,
 * and all but one would have to try again.
 */
export async function inTurn<T>(connection: SharedConnection, key: string, change: () => Promise<T>): Promise<T> {
  const turns = last.get(connection) ?? new Map<string, Promise<void>>();
  last.set(connection, turns);
  const before = turns.get(key) ?? Promise.resolve();
  const mine = before.then(change);
  const settled = mine.then(
    () => undefined,
    () => undefined,
  );
  turns.set(key, settled);
  try {
    return await mine;
  } finally {
    if (turns.get(key) === settled) turns.delete(key);
  }
}
