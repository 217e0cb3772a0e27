import * as wf from '@temporalio/workflow';

export const askUpdate = wf.defineUpdate<string, [string]>('ask');

/** What Temporal itself costs: a workflow with an update that returns what it is given, and nothing else. */
export async function bare(): Promise<void> {
  wf.setHandler(askUpdate, (text) => text);
  await wf.condition(() => false);
}
