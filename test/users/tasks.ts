import * as wf from '@temporalio/workflow';
import { announceTask, type TaskOptions, type TaskOutcome } from '../../src/in-workflow/index.ts';

/** Announces a task and waits for its end. */
export async function producer(room: string, task: TaskOptions): Promise<TaskOutcome> {
  const announced = await announceTask(room, task);
  return await announced.outcome();
}

/** Likewise, but every signal to it is lost. */
export async function signalless(room: string, task: TaskOptions): Promise<TaskOutcome> {
  const announced = await announceTask(room, task);
  wf.setHandler(wf.defineSignal('synod.reply'), () => undefined);
  return await announced.outcome();
}

/** Announces a task, and waits for its end in another run, after the task has ended and no longer answers. */
export async function hurried(room: string, task: TaskOptions, run = 1): Promise<TaskOutcome> {
  const announced = await announceTask(room, task);
  if (run === 1) {
    await announced.outcome();
    await wf.sleep('10 minutes');
    return await wf.continueAsNew<typeof hurried>(room, task, 2);
  }
  return await announced.outcome();
}

/** Announces a task of the same name in two rooms. */
export async function twice(one: string, other: string, taskId: string): Promise<TaskOutcome[]> {
  const task = { taskId, title: taskId };
  const announced = [await announceTask(one, task), await announceTask(other, task)];
  return await Promise.all(announced.map(({ outcome }) => outcome()));
}
