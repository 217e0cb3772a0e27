import { z } from 'zod';
import { message } from './envelope.ts';
import { attempt, capabilities, json, name, priority, seconds, text, whole } from './fields.ts';

/** Messages to a task lease, `synod:{room}:task:{task_id}`. Durations in seconds. */
export const taskMessages = {
  /** Opens the task; its sender is the producer. */
  'task.announce': message('task.announce', {
    task_id: name,
    title: text.min(1, 'must not be empty'),
    input: json.optional(),
    claim_seconds: seconds().default(60),
    lease_seconds: seconds().default(300),
    max_attempts: whole(1).default(3),
    priority: priority.default(3),
    capabilities: capabilities.optional(),
  }),
  'task.claim': message('task.claim', { task_id: name, lease_seconds: seconds().optional() }),
  'task.renew': message('task.renew', { task_id: name, attempt, lease_seconds: seconds().optional() }),
  'task.complete': message('task.complete', { task_id: name, attempt, result: json.optional() }),
  'task.fail': message('task.fail', {
    task_id: name,
    attempt,
    reason: text.min(1, 'must not be empty'),
    retry: z.boolean().default(true),
  }),
  'task.release': message('task.release', { task_id: name, attempt }),
  'task.cancel': message('task.cancel', { task_id: name, reason: text.optional() }),
};

export type TaskMessage = z.infer<(typeof taskMessages)[keyof typeof taskMessages]>;
export type TaskAnnounce = z.infer<(typeof taskMessages)['task.announce']>;
