import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from './run.ts';

/** The Python of a virtual environment. */
export function pythonOf(venv: string): string {
  return process.platform === 'win32' ? path.join(venv, 'Scripts/python.exe') : path.join(venv, 'bin/python');
}

/** Why no virtual environment can be made here and how to mend that; undefined when one can. */
export async function venvMissing(): Promise<string | undefined> {
  const wanted = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  const { code, output } = await run('python3', ['-c', wanted], { capture: true });
  if (code === 0) return undefined;
  const why = lastLine(output);
  return `Python 3.10 or newer with venv is missing${why ? ` (${why})` : ''}: install python3 and python3-venv`;
}

/** Makes a virtual environment what a file of requirements asks for, where it is not yet; returns why it cannot. */
export async function prepareVenv(venv: string, requirements: string): Promise<string | undefined> {
  /** What has been installed into it: the hash of the requirements. */
  const stamp = path.join(venv, '.requirements');
  const wanted = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return undefined;
  console.log(`synod: installing the Python packages of ${path.basename(path.dirname(requirements))} for the tests`);
  const made = await run('python3', ['-m', 'venv', '--clear', venv], { capture: true });
  if (made.code !== 0) return lastLine(made.output);
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--quiet', '-r', requirements];
  const installed = await run(pythonOf(venv), pip, { capture: true });
  if (installed.code !== 0) return lastLine(installed.output);
  await writeFile(stamp, wanted);
  return undefined;
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}
