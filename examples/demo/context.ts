import type { InputFile } from './files.ts';

/** The agents of both acts. */
export const AGENTS = ['agent-1', 'agent-2', 'agent-3', 'agent-4'];
/** It is killed in the middle of a task. */
export const KILLED_AGENT = 'agent-1';
/** It is stopped in the middle of a task, and continues later. */
export const STOPPED_AGENT = 'agent-3';

/** What an act is given. */
export interface DemoContext {
  readonly files: readonly InputFile[];
  /** The folder of the files. */
  readonly root: string;
  /** A folder of the act's own. */
  readonly folder: string;
  /** Fires when the demo is to end early. */
  readonly signal: AbortSignal;
  /** Prints something important, set apart from the rest. */
  highlight(text: string): void;
  /** Prints a line. */
  log(text: string): void;
  /** Ends the demo: something went wrong that was not planned. */
  fail(error: Error): void;
  /** Waits for something, unless the demo ends first. */
  until<T>(work: Promise<T>): Promise<T>;
  /** Is done at the end, the last first, however the demo ends. */
  cleanUp(step: () => Promise<unknown>): void;
}
