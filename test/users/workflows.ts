// Workflows as a user would write them, for the tests of `synod/workflow`.
export { crowd, denied, greedy, holder, late, many, nested, renewing, sharing, thrower, unanswered } from './locks.ts';
export { day } from './day.ts';
export { signalless, hurried, producer, twice } from './tasks.ts';
export { asking, gathering } from './together.ts';
