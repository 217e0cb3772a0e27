import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent } from '../../src/client/index.ts';
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

const ROOM = 'release';
const TASK = 'write-notes';
const WORKFLOW = `synod:${ROOM}:task:${TASK}`;

describe.skipIf(noBrowser)('the Web UI', () => {
  let stack: Stack;
  let folder: string;
  let browser: TestBrowser;
  let page: Page;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'synod-webui-'));
    stack = await startStack({ server: { ui: true } });
    const producer = new Agent(stack.client, 'producer');
    await producer.announce(ROOM, { taskId: TASK, title: 'Write the release notes', leaseSeconds: 600 });
    const claim = say('task.claim', 'agent-7', { task_id: TASK });
    await Wire.task(stack.client, ROOM, TASK).ask(claim);
    browser = await startBrowser({ width: 1400, height: 1400 });
    page = await browser.context.newPage();
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
    await expect.poll(() => textOf(page), { message: url }).toContain(awaited);
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
