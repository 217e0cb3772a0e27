import * as wf from '@temporalio/workflow';
import type { Deadline } from '../src/protocols/protocol.ts';

/**
 * The one timer of a workflow. A timer that is early is left to run out, and the next one is set then: a lease that is
 * renewed every minute so costs no timer each minute.
 */
export class DeadlineTimer {
  readonly #onDue: () => void;
  #running: { deadline: Deadline; scope: wf.CancellationScope } | undefined;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Says whether anything had to be started or cancelled for it. */
  set(deadline: Deadline | null, now: number): boolean {
    const running = this.#running?.deadline;
    if (!deadline) {
      // A passing one runs out by itself; any other would wake the workflow for nothing much later.
      const useless = running !== undefined && !running.passing;
      if (useless) this.cancel();
      return useless;
    }
    if (running && running.at <= deadline.at && (running.passing || running.summary === deadline.summary)) return false;
    this.cancel();
    const scope = new wf.CancellationScope();
    this.#running = { deadline, scope };
    const passes = scope.run(() => wf.sleep(Math.max(1, Math.ceil(deadline.at - now)), { summary: deadline.summary }));
    passes.then(
      () => {
        if (this.#running?.scope === scope) this.#running = undefined;
        this.#onDue();
      },
      // Cancelled for another deadline.
      () => {},
    );
    return true;
  }

  cancel(): void {
    const running = this.#running;
    this.#running = undefined;
    running?.scope.cancel();
  }
}
