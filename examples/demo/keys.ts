import type { DemoContext } from './context.ts';

/** What the keys do. */
export interface KeyActions {
  kill(): void;
  pause(): void;
  post(text: string): void;
}

/** Reads keys, where there is a terminal. `used` says whether one was used to kill or pause an agent. */
export function listenToKeys(context: DemoContext, actions: KeyActions): { readonly used: boolean; stop(): void } {
  const { stdin } = process;
  const state = { used: false, stop: () => {} };
  if (!stdin.isTTY || !process.stdout.isTTY) return state;
  let line: string | undefined;
  const onKey = (data: Buffer) => {
    for (const key of data.toString()) {
      // In raw mode Ctrl-C is a key like any other.
      if (key === '\u0003') process.kill(process.pid, 'SIGINT');
      else if (line !== undefined) line = typed(line, key);
      else if (key === 'k' || key === 'p') {
        state.used = true;
        if (key === 'k') actions.kill();
        else actions.pause();
      } else if (key === 'm') {
        line = '';
        context.highlight('type a message to the room; Enter sends it, an empty line cancels');
      }
    }
  };
  const typed = (so_far: string, key: string): string | undefined => {
    if (key === '\r' || key === '\n') {
      if (so_far.trim() !== '') actions.post(so_far.trim());
      return undefined;
    }
    return key === '\u007f' ? so_far.slice(0, -1) : so_far + key;
  };
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  stdin.resume();
  context.highlight('keys: k kills an agent, p pauses one past its lease, m writes to the room, Ctrl-C ends all of it');
  state.stop = () => {
    stdin.off('data', onKey);
    stdin.setRawMode(false);
    stdin.pause();
  };
  context.cleanUp(() => Promise.resolve(state.stop()));
  return state;
}
