import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { Agent } from '../../src/client/index.ts';
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startStack, type Stack } from '../support/stack.ts';

const ROOM = 'lab';
const MALICE = '<script>document.title = "taken"</script><img src=x onerror="document.title=\'taken\'"> @everyone';

describe.skipIf(noBrowser)('the page of a room', () => {
  let stack: Stack;
  let gateway: TestGateway;
  let browser: TestBrowser;
  let page: Page;
  let token: string;
  const faults: string[] = [];

  beforeAll(async () => {
    stack = await startStack();
    gateway = await startGateway(stack.client);
    token = await gateway.token({ agent: 'watcher', rooms: [ROOM] });
    browser = await startBrowser({ width: 1200, height: 900 });
    page = await browser.context.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
    await stack?.stop();
  });

  const text = async (id: string) => (await page.locator(`#${id}`).innerText()).trim();

  async function enter(with_: string): Promise<void> {
    await page.goto(`${gateway.url}/?room=${ROOM}`);
    await page.getByLabel('Token').fill(with_);
    await page.getByRole('button', { name: 'Watch' }).click();
  }

  it('lets nobody in without a token, and says why', async () => {
    await enter('synod_nonsense');
    await expect.poll(() => text('fault')).toMatch(/token/i);
    expect(await page.locator('main').isVisible()).toBe(false);
    // The refusal itself is an error to the browser, which may report it later.
    await expect.poll(() => faults).toEqual([expect.stringContaining('401')]);
    faults.length = 0;
  });

  it('shows a lock that is taken, and that it is free again', async () => {
    const ann = new Agent(stack.client, 'ann');
    await ann.post(ROOM, 'hello');
    await enter(token);
    await expect.poll(() => text('connection')).toBe('live');
    await expect.poll(() => text('log')).toContain('hello');
    await ann.room(ROOM).lock(['report'], { type: 'exclusive' }, async ({ tokens }) => {
      await expect
        .poll(() => text('held'))
        .toMatch(new RegExp(`ann.* has report \\(exclusive, token ${tokens.report}\\).* for \\d+ s`));
    });
    await expect.poll(() => text('held')).toBe('nothing is held');
    await expect.poll(() => text('log')).toContain('ann asks for report (exclusive)');
  });

  it('shows what is open: tasks, votes and barriers', async () => {
    const ann = new Agent(stack.client, 'ann');
    await ann.announce(ROOM, { taskId: 'sort', title: 'Sort', priority: 2 });
    const stop = new AbortController();
    const { signal } = stop;
    const waits = [
      ann.room(ROOM).decide({ question: 'Publish?', voters: ['ann', 'bob'], quorum: 2, deadlineSeconds: 600 }, signal),
      ann.room(ROOM).barrier('done', { roster: ['bob'], timeoutSeconds: 600, fallback: 'fail' }, signal),
    ].map((wait) => wait.catch(() => undefined));
    await expect.poll(() => text('open')).toMatch(/sort \(priority 2\)/);
    await expect.poll(() => text('open')).toMatch(/Publish\? — yes 0, no 0; quorum 2/);
    await expect.poll(() => text('open')).toMatch(/done — 0 in, missing bob/);
    stop.abort();
    await Promise.all(waits);
  });

  it('shows markup as text, and runs none of it', async () => {
    await new Agent(stack.client, 'mallory').post(ROOM, MALICE);
    await expect.poll(() => text('log')).toContain(MALICE);
    expect(await page.title()).toBe('Synod');
    expect(await page.locator('#log img, #log script').count()).toBe(0);
    const { headers } = await fetch(gateway.url, { headers: { accept: 'text/html' } });
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'self'/);
  });

  it('fits a phone: one column, nothing wider than the screen', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    const boxes = await Promise.all(['held', 'open', 'log'].map((id) => page.locator(`#${id}`).boundingBox()));
    const [held, open, log] = boxes.map((box) => box?.y ?? Number.NaN);
    expect([held, open, log]).toEqual([held, open, log].toSorted((a = 0, b = 0) => a - b));
    const [width, screen] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]');
    expect(width).toBeLessThanOrEqual(screen);
  });

  it('goes on after the gateway was away, with what was said meanwhile', async () => {
    await new Agent(stack.client, 'ann').post(ROOM, 'before');
    await expect.poll(() => text('log')).toContain('before');
    await browser.context.setOffline(true);
    await new Agent(stack.client, 'ann').post(ROOM, 'meanwhile');
    await browser.context.setOffline(false);
    await expect.poll(() => text('log')).toContain('meanwhile');
    // Each once.
    expect((await text('log')).split('meanwhile')).toHaveLength(2);
  });

  it('has no fault of its own', () => {
    expect(faults.filter((fault) => !/ERR_INTERNET_DISCONNECTED/.test(fault))).toEqual([]);
  });
});
