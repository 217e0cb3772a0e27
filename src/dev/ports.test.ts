import { createServer } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { freePorts } from './ports.ts';

it('finds different ports that are free, and of which the system gives none by itself', async () => {
  const ports = await freePorts(20, '127.0.0.1');
  expect(new Set(ports).size).toBe(20);
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_768);
    const server = createServer().listen(port, '127.0.0.1');
    await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
    await new Promise((resolve) => server.close(resolve));
  }
});

it('passes over a port that is in use', async () => {
  const [taken = 0] = await freePorts(1, '127.0.0.1');
  const server = createServer().listen(taken, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const random = vi.spyOn(Math, 'random').mockReturnValue((taken - 20_000 + 0.5) / 12_000);
  onTestFinished(() => random.mockRestore());
  expect(await freePorts(1, '127.0.0.1')).not.toContain(taken);
});
