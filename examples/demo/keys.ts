import type { Stage } from './stage.ts';

/** What the visitor can do. */
export interface Deeds {
  kill(): void;
  pause(): void;
  post(text: string): void;
}

/** Reads the visitor's keys, where there is a terminal. `used` says whether one did anything to the agents. */
export function listenToKeys(stage: Stage, deeds: Deeds): { readonly used: boolean; stop(): void } {
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
        if (key === 'k') deeds.kill();
        else deeds.pause();
      } else if (key === 'm') {
        line = '';
        stage.tell('write to the room; Enter sends, an empty line does not');
      }
    }
  };
  const typed = (so_far: string, key: string): string | undefined => {
    if (key === '\r' || key === '\n') {
      if (so_far.trim() !== '') deeds.post(so_far.trim());
      return undefined;
    }
    return key === '\u007f' ? so_far.slice(0, -1) : so_far + key;
  };
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  stdin.resume();
  stage.tell('keys: k kills an agent, p pauses one past its lease, m writes to the room, Ctrl-C ends all of it');
  state.stop = () => {
    stdin.off('data', onKey);
    stdin.setRawMode(false);
    stdin.pause();
  };
  stage.cleanUp(() => Promise.resolve(state.stop()));
  return state;
}
