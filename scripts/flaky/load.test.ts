import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../run.ts';
import { startLoad } from './load.ts';

/** Whether a process with this id exists. */
function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it('starts busy processes and ends them', async () => {
  const load = startLoad(2);
  expect(load.pids).toHaveLength(2);
  expect(load.pids.map(alive)).toEqual([true, true]);
  await load.stop();
  expect(load.pids.map(alive)).toEqual([false, false]);
});

it.skipIf(process.platform === 'win32')('ends them also when the process that started them is killed', async () => {
  const load = pathToFileURL(path.join(root, 'scripts/flaky/load.ts')).href;
  const script = `import(${JSON.stringify(load)}).then(({ startLoad }) => console.log(startLoad(1).pids[0]))`;
  const parent = spawn(process.execPath, ['--import', 'tsx', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<Buffer>((resolve) => parent.stdout.once('data', resolve));
  const pid = Number(line.toString());
  expect(alive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await expect.poll(() => alive(pid)).toBe(false);
});
