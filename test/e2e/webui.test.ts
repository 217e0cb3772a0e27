import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent } from '../../src/client/index.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

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
const ROOM = 'release';
const TASK = 'write-notes';
const WORKFLOW = `synod:${ROOM}:task:${TASK}`;

async function browserOnPath(): Promise<string | undefined> {
  for (const name of BROWSERS) {
    const found = await promisify(execFile)('/bin/sh', ['-c', `command -v ${name}`]).catch(() => undefined);
    if (found) return found.stdout.trim();
  }
  return undefined;
}

const executablePath = await browserOnPath();
const strict = ['1', 'true'].includes(process.env['CI'] ?? '');
if (executablePath === undefined && !strict)
  console.warn(
    `webui.test.ts is skipped: none of ${BROWSERS.join(', ')} is on PATH (Debian: apt-get install chromium)`,
  );

describe.skipIf(executablePath === undefined && !strict)('the Web UI', { timeout: 90_000 }, () => {
  let stack: Stack;
  let folder: string;
  let browser: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    if (executablePath === undefined)
      throw new Error(`in CI there must be a browser: one of ${BROWSERS.join(', ')} on PATH`);
    folder = await mkdtemp(path.join(tmpdir(), 'synod-webui-'));
    stack = await startStack({ server: { ui: true } });
    const producer = new Agent(stack.client, 'producer');
    await producer.announce(ROOM, { task_id: TASK, title: 'Write the release notes', lease_seconds: 600 });
    const claim = say('task.claim', 'agent-7', { task_id: TASK });
    await Wire.task(stack.client, ROOM, TASK).ask(claim);
    browser = await chromium.launchPersistentContext(path.join(folder, 'profile'), {
      executablePath,
      args: ARGS,
      viewport: { width: 1400, height: 1400 },
    });
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
    // For whoever wants to look at the pages.
    const kept = process.env['SYNOD_KEEP_SCREENSHOTS'];
    if (kept) console.info(`screenshots are kept in ${folder}`);
    else if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** The text of a tab of the task's page, once it holds `awaited`. */
  async function tab(name: string, awaited: string): Promise<string> {
    const { runId } = await stack.client.workflow.getHandle(WORKFLOW).describe();
    const url = `${stack.server.uiUrl}/namespaces/default/workflows/${encodeURIComponent(WORKFLOW)}/${runId}/${name}`;
    await page.goto(url);
    await expect.poll(() => textOf(page), { timeout: 20_000, message: url }).toContain(awaited);
    await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
    return await textOf(page);
  }

  it('shows in our sentences how the task stands', async () => {
    // The quotes come out as typographic ones.
    const text = await tab('user-metadata', 'Held by ');
    expect(text).toMatch(/Task .Write the release notes., announced by producer at /);
    expect(text).toContain('Held by agent-7 (attempt 1 of 3); the lease ends at ');
  });

  it('shows in the history what the timers are for', async () => {
    const text = await tab('history', 'lease of agent-7, attempt 1');
    expect(text).toContain('claim window, attempt 1');
  });

  it('says what each update is for, where an operator sends one', async () => {
    await tab('history', 'More Actions');
    await page.getByRole('button', { name: 'More Actions' }).click();
    await page.getByRole('menuitem', { name: 'Send an Update' }).click();
    await page.getByRole('button', { name: 'Select an Update' }).click();
    await expect.poll(() => textOf(page)).toContain('A list of messages; returns the replies to each, in order.');
    expect(await textOf(page)).toContain('The log after a sequence number, for some agents');
    await page.screenshot({ path: path.join(folder, 'update.png') });
  });
});

/** What there is to read, in the frames too: details are Markdown, shown in a frame of their own. */
async function textOf(page: Page): Promise<string> {
  const texts = await Promise.all(
    page.frames().map(
      async (frame) =>
        await frame
          .locator('body')
          .innerText()
          .catch(() => ''),
    ),
  );
  return texts.join(' ').replaceAll(/\s+/g, ' ');
}
