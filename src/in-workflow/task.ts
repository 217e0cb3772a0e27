import { z } from 'zod';
import { sha256Hex } from '../envelope/canonical.ts';
import { announcementOf, TASK_KEYS, type TaskOptions } from '../envelope/taskOptions.ts';
import { taskTarget } from '../envelope/targets.ts';
import { json } from '../envelope/fields.ts';
import { taskMessages } from '../envelope/task.ts';
import { open, type Opened } from './opening.ts';
import { checkedRoom, checkKeys, compose, lingering } from './send.ts';
import { senderOf, type SenderOptions } from './sender.ts';

const about = { task_id: z.string(), attempt: z.number().optional(), holder: z.string().optional() };
const taskOutcome = z.union([
  z
    .object({
      type: z.literal('task.completed'),
      ...about,
      /** What its worker returned. */
      result: json.optional(),
    })
    .transform(withTaskId),
  z
    .object({
      type: z.literal('task.failed'),
      ...about,
      /** `attempts_exhausted`, `expired`, or what its worker said. */
      reason: z.string(),
      /** What the last worker said. */
      detail: z.string().optional(),
    })
    .transform(withTaskId),
  z
    .object({ type: z.literal('task.cancelled'), ...about, by: z.string(), reason: z.string().optional() })
    .transform(withTaskId),
]);

function withTaskId<Fields extends { readonly task_id: string }>({ task_id: taskId, ...fields }: Fields) {
  return { ...fields, taskId };
}

/** How a task ended: `task.completed`, `task.failed` or `task.cancelled`, with the wire's fields in camelCase. */
export type TaskOutcome = z.infer<typeof taskOutcome>;

export type { TaskOptions } from '../envelope/taskOptions.ts';

/** A task that was announced. */
export interface AnnouncedTask extends Opened<TaskOutcome> {
  readonly taskId: string;
}

/**
 * Announces a task to a room, for an agent to do. Durations are in seconds.
 * @throws ApplicationFailure `invalid_envelope` naming the field; `idempotency_conflict` where the task was announced differently.
 * @example
 * const task = await announceTask('lab', { taskId: 'count-1', title: 'Count the files' });
 * const outcome = await task.outcome();
 * if (outcome.type !== 'task.completed') throw ApplicationFailure.create({ message: outcome.type });
 */
export async function announceTask(
  room: string,
  task: TaskOptions,
  options: SenderOptions = {},
): Promise<AnnouncedTask> {
  const sender = senderOf(options);
  checkKeys('task', task, TASK_KEYS);
  const { lingerSeconds, idempotencyKey = `announce-${sha256Hex(String(task.taskId))}` } = task;
  const message = compose(taskMessages['task.announce'], sender, announcementOf({ ...task, idempotencyKey }));
  const target = taskTarget(checkedRoom(room), message.task_id, lingering(lingerSeconds));
  const opened = await open(sender, target, [message], (envelope) => taskOutcome.safeParse(envelope).data);
  return { taskId: message.task_id, ...opened };
}
