import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium, type BrowserContext } from 'playwright-core';

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome'];
const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

async function browserOnPath(): Promise<string | undefined> {
  for (const name of BROWSERS) {
    const found = await promisify(execFile)('/bin/sh', ['-c', `command -v ${name}`]).catch(() => undefined);
    if (found) return found.stdout.trim();
  }
  return undefined;
}

const executablePath = await browserOnPath();
const strict = ['1', 'true'].includes(process.env['CI'] ?? '');
/** No browser is here, and none need be: tests that want one are skipped. */
export const noBrowser = executablePath === undefined && !strict;
if (noBrowser)
  console.warn(
    `tests of pages are skipped: none of ${BROWSERS.join(', ')} is on PATH (Debian: apt-get install chromium)`,
  );

/** A browser with a profile of its own. */
export interface TestBrowser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

export async function startBrowser(viewport: { width: number; height: number }): Promise<TestBrowser> {
  if (executablePath === undefined)
    throw new Error(`in CI there must be a browser: one of ${BROWSERS.join(', ')} on PATH`);
  const folder = await mkdtemp(path.join(tmpdir(), 'synod-browser-'));
  const context = await chromium.launchPersistentContext(path.join(folder, 'profile'), {
    executablePath,
    args: ARGS,
    viewport,
  });
  return {
    context,
    async close() {
      await context.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
