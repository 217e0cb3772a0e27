import type { z } from 'zod';
import { message } from './envelope.ts';
import { json, name, seconds, whole } from './fields.ts';

/** The role of a room's coordinator where none is named. */
export const DEFAULT_ROLE = 'main';
/** Longest time between two heartbeats, in seconds. */
export const MAX_HEARTBEAT_SECONDS = 300;
export const DEFAULT_HEARTBEAT_SECONDS = 10;
/** Who has sent nothing for so many times the heartbeat is not active any more. */
export const MISSED_HEARTBEATS = 3;

const role = name.default(DEFAULT_ROLE);
/** The number of an election: only rises. */
const epoch = whole(1);

/** Messages to a coordinator election, `synod:{room}:coordinator:{role}`. Durations in seconds. */
export const coordinatorMessages = {
  /** Makes the sender a candidate; repeated, it keeps it active. The first one ever fixes the heartbeat. */
  'coordinator.join': message('coordinator.join', {
    role,
    heartbeat_seconds: seconds({ max: MAX_HEARTBEAT_SECONDS }).default(DEFAULT_HEARTBEAT_SECONDS),
  }),
  'coordinator.heartbeat': message('coordinator.heartbeat', { role, epoch }),
  'coordinator.directive': message('coordinator.directive', { role, epoch, directive: json }),
  'coordinator.resign': message('coordinator.resign', { role, epoch }),
  'coordinator.leave': message('coordinator.leave', { role }),
};

export type CoordinatorMessage = z.infer<(typeof coordinatorMessages)[keyof typeof coordinatorMessages]>;
