import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Tool } from './find.ts';

/**
 * Lets the Temporal SDK download an executable into `folder` by starting and ending a server with it.
 * @param timeoutMs time limit in milliseconds. The SDK cannot be interrupted: its download may go on in the
 * background until the process ends.
 * @returns the path of the executable, somewhere in `folder`
 * @throws Error when the download or the first start fails, or the time is up
 */
export async function downloadBySdk(tool: Tool, folder: string, timeoutMs: number): Promise<string> {
  // Loaded only here: it brings the SDK's native library, which nobody else in this folder needs.
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const executable = { type: 'cached-download', downloadDir: folder } as const;
  const started =
    tool === 'temporal'
      ? TestWorkflowEnvironment.createLocal({ server: { executable } })
      : TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    await (await Promise.race([started, late])).teardown();
  } finally {
    clearTimeout(timer);
  }
  const files = (await readdir(folder)).filter((name) => name.startsWith(tool));
  const [file] = files;
  if (file === undefined) throw new Error(`the SDK left no ${tool} in its download folder`);
  return path.join(folder, file);
}
