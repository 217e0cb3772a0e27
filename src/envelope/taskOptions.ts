import type { Json } from './fields.ts';
import type { Keys } from './options.ts';

/** A task to announce. Durations in seconds. */
export interface TaskOptions {
  /** 1 to 200 UTF-16 units, unique in the room. */
  readonly taskId: string;
  readonly title: string;
  /** What a worker needs to do it; JSON, within the 16 KiB of an envelope. */
  readonly input?: Json;
  /** After so long without a claim it is announced again; default 60. */
  readonly claimSeconds?: number;
  /** How long a worker holds it without renewing; default 300. */
  readonly leaseSeconds?: number;
  /** Default 3. */
  readonly maxAttempts?: number;
  /** 1 (most urgent) to 5; default 3. */
  readonly priority?: number;
  /** What a worker must be able to do. */
  readonly capabilities?: readonly string[];
  /** RFC 3339; unclaimed at this time it fails. */
  readonly expiresAt?: string;
  /** Default: derived from `taskId`, so that announcing the same task again is no second announcement. */
  readonly idempotencyKey?: string;
  /** Seconds for which the task answers after it has ended; default 60. */
  readonly lingerSeconds?: number;
}

/** The keys of {@link TaskOptions}. */
export const TASK_KEYS: Keys<TaskOptions> = {
  taskId: true,
  title: true,
  input: true,
  claimSeconds: true,
  leaseSeconds: true,
  maxAttempts: true,
  priority: true,
  capabilities: true,
  expiresAt: true,
  idempotencyKey: true,
  lingerSeconds: true,
};

/** The fields of `task.announce`. */
export function announcementOf(task: TaskOptions): {
  readonly type: 'task.announce';
  readonly [field: string]: unknown;
} {
  return {
    type: 'task.announce',
    task_id: task.taskId,
    title: task.title,
    input: task.input,
    claim_seconds: task.claimSeconds,
    lease_seconds: task.leaseSeconds,
    max_attempts: task.maxAttempts,
    priority: task.priority,
    capabilities: task.capabilities,
    expires_at: task.expiresAt,
    idempotency_key: task.idempotencyKey,
  };
}
