import { z } from 'zod';
import { json } from '../../envelope/fields.ts';

/** A task: announced, claimed under a lease, fenced by its attempt, ended once. Times are epoch milliseconds. */
export const taskState = z.object({
  task: z
    .object({
      task_id: z.string(),
      title: z.string(),
      input: json.optional(),
      claim_ms: z.number(),
      lease_ms: z.number(),
      max_attempts: z.number(),
      priority: z.number(),
      capabilities: z.array(z.string()).optional(),
      producer: z.string(),
      announced_at: z.number(),
      expires_at: z.number().optional(),
    })
    .optional(),
  /** The fencing token: only rises, as long as the workflow and its runs go on. 0 before the announcement. */
  attempt: z.number(),
  /** How each attempt ended, the first first: `e` by expiry, `b` given back by its holder. Of the first thousand. */
  ends: z.string(),
  /** Since when the status is what it is. */
  since: z.number(),
  claim: z.object({ deadline: z.number(), window: z.number() }).optional(),
  lease: z
    .object({
      holder: z.string(),
      /** The key of its claim; absent in what revision 1 left. */
      key: z.string().optional(),
      /** Its length as it was claimed or renewed last, in milliseconds. */
      ms: z.number(),
      /** Its length as it was claimed; absent in what revision 1 left. */
      claimed_ms: z.number().optional(),
      expires_at: z.number(),
      first_expires_at: z.number(),
    })
    .optional(),
  outcome: z.object({ type: z.string() }).catchall(json).optional(),
});
export type TaskState = z.infer<typeof taskState>;
export type Task = NonNullable<TaskState['task']>;
export type Lease = NonNullable<TaskState['lease']>;
