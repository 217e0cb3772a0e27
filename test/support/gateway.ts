import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { envelopeLike } from '../../src/envelope/envelope.ts';
import { serveGateway, type RunningGateway, type ServeOptions } from '../../src/gateway/server.ts';
import { editTokens, TokenFile } from '../../src/gateway/tokenStore.ts';
import { issue, type StoredToken } from '../../src/gateway/tokens.ts';

const answer = z.object({
  id: z.string().optional(),
  seq: z.number().optional(),
  replies: z.array(envelopeLike).optional(),
  events: z.array(z.object({ seq: z.number(), envelope: envelopeLike })).optional(),
  next: z.number().optional(),
  truncated: z.boolean().optional(),
  now: z.string().optional(),
  error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }).optional(),
});

/** What the gateway answered. */
export type Answer = z.infer<typeof answer> & { readonly status: number; readonly headers: Headers };

/** A gateway with a file of tokens, for one test file. */
export interface TestGateway extends RunningGateway {
  /** A new token. */
  token(rights: Parameters<typeof issue>[0]): Promise<string>;
  revoke(token: string): Promise<void>;
  /** Calls it as an agent with this token does. */
  ask(token: string, path: string, body?: object | string): Promise<Answer>;
}

export async function startGateway(client: Client, options: Partial<ServeOptions> = {}): Promise<TestGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'synod-gateway-'));
  const path = join(folder, 'tokens.json');
  await editTokens(path, (known) => known);
  const running = await serveGateway(client, {
    tokens: await TokenFile.open(path, () => undefined),
    log: () => undefined,
    ...options,
  });
  const change = async (edit: (known: readonly StoredToken[]) => readonly StoredToken[]) => {
    await editTokens(path, edit);
  };
  return {
    url: running.url,
    async token(rights) {
      const { token, stored } = issue(rights);
      await change((known) => [...known, stored]);
      return token;
    },
    async revoke(token) {
      await change((known) => known.filter(({ id }) => !token.startsWith(`synod_${id}_`)));
    },
    async ask(token, url, body) {
      const response = await fetch(new URL(url, running.url), {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const { status, headers } = response;
      return { ...answer.parse(await response.json()), status, headers };
    },
    async close() {
      await running.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
