/**
 * Which rules a run follows, to its end, so that a replay takes the same steps. A new run follows the latest; what it takes
 * over from an earlier run may have come about under earlier ones.
 *
 * 1: until 0.2. 2: every effect has a number of its own; deadlines that were due while the workflow could not run are put off;
 * an ended workflow answers until all that it owes is delivered; a renewal of a task that asks for no length gets the
 * length of its claim, not that of the latest renewal; `{area}.accepted` is answered and not logged; what stands before the
 * opening in the first request is answered `unknown`; what the state still shows answers a repeat that was evicted.
 */
export const REVISION = 2;
