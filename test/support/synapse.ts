import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { startChild, type OwnedChild } from '../../src/dev/child.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { root } from '../../scripts/run.ts';
import { prepareVenv, pythonOf, venvMissing } from '../../scripts/venv.ts';

const venv = path.join(root, '.cache/synapse');

/** Why Synapse cannot be run here; undefined where it can. In CI nothing may be left out: there it throws. */
export async function synapseMissing(): Promise<string | undefined> {
  const why = (await venvMissing()) ?? (await prepareVenv(venv, path.join(root, 'test/synapse/requirements.txt')));
  if (why !== undefined && ['1', 'true'].includes(process.env['CI'] ?? '')) throw new Error(`no Synapse: ${why}`);
  return why;
}

/** No user of the tests is held back. */
const RAISED = { per_second: 10_000, burst_count: 10_000 };
const event = z.object({ event_id: z.string(), sender: z.string(), content: z.looseObject({}) });
export type MatrixEvent = z.infer<typeof event>;

/** A homeserver of the tests: sqlite, loopback, in a folder of its own. */
export class Synapse {
  readonly url: string;
  readonly #folder: string;
  readonly #secret: string;
  #child: OwnedChild | undefined;

  private constructor(url: string, folder: string, secret: string) {
    this.url = url;
    this.#folder = folder;
    this.#secret = secret;
  }

  /** @param limits `default`: what Synapse ships with. */
  static async start(limits: 'default' | 'raised'): Promise<Synapse> {
    const [port] = await freePorts(1, '127.0.0.1');
    const folder = await mkdtemp(path.join(tmpdir(), 'synod-synapse-'));
    const secret = randomBytes(16).toString('hex');
    const at = (name: string): string => path.join(folder, name);
    const config = {
      server_name: 'synod.test',
      pid_file: at('pid'),
      listeners: [{ port, type: 'http', bind_addresses: ['127.0.0.1'], resources: [{ names: ['client'] }] }],
      database: { name: 'sqlite3', args: { database: at('homeserver.db') } },
      log_config: at('log.json'),
      media_store_path: at('media'),
      signing_key_path: at('signing.key'),
      registration_shared_secret: secret,
      trusted_key_servers: [],
      report_stats: false,
      ...(limits === 'raised' ? { rc_message: RAISED, rc_login: { address: RAISED, account: RAISED } } : {}),
    };
    // JSON is YAML.
    await writeFile(at('homeserver.yaml'), JSON.stringify(config));
    await writeFile(at('log.json'), JSON.stringify({ version: 1, root: { level: 'ERROR' } }));
    const synapse = new Synapse(`http://127.0.0.1:${port}`, folder, secret);
    const keys = await startChild(pythonOf(venv), [...synapse.#command, '--generate-keys']);
    const { code } = await keys.exited;
    if (code !== 0) throw new Error(`Synapse made no keys: ${keys.tail()}`);
    await synapse.up();
    return synapse;
  }

  get #command(): string[] {
    return ['-m', 'synapse.app.homeserver', '-c', path.join(this.#folder, 'homeserver.yaml')];
  }

  async up(): Promise<void> {
    const child = await startChild(pythonOf(venv), this.#command);
    this.#child = child;
    for (;;) {
      if (!child.running()) throw new Error(`Synapse has ended: ${child.tail()}`);
      const answer = await fetch(`${this.url}/_matrix/client/versions`).catch(() => undefined);
      if (answer?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async down(): Promise<void> {
    await this.#child?.stop();
    this.#child = undefined;
  }

  async stop(): Promise<void> {
    await this.down();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Registers a user by the shared secret. */
  async register(name: string): Promise<MatrixUser> {
    const path = '/_synapse/admin/v1/register';
    const { nonce } = await call(z.object({ nonce: z.string() }), this.url + path);
    const password = randomBytes(12).toString('hex');
    const mac = createHmac('sha1', this.#secret).update([nonce, name, password, 'notadmin'].join('\0')).digest('hex');
    const user = await call(z.object({ access_token: z.string(), user_id: z.string() }), this.url + path, {
      body: { nonce, username: name, password, admin: false, mac },
    });
    return new MatrixUser(this.url, user.user_id, user.access_token);
  }
}

/** A user of the homeserver, by the Matrix API alone. */
export class MatrixUser {
  readonly id: string;
  readonly token: string;
  readonly #base: string;

  constructor(url: string, id: string, token: string) {
    this.#base = `${url}/_matrix/client/v3`;
    this.id = id;
    this.token = token;
  }

  async createRoom(): Promise<string> {
    const body = { preset: 'public_chat' };
    return (await this.#call(z.object({ room_id: z.string() }), 'createRoom', body)).room_id;
  }

  async join(room: string): Promise<void> {
    await this.#call(z.looseObject({}), `rooms/${encodeURIComponent(room)}/join`, {});
  }

  async say(room: string, text: string): Promise<void> {
    const transaction = randomBytes(8).toString('hex');
    const path = `rooms/${encodeURIComponent(room)}/send/m.room.message/${transaction}`;
    await this.#call(z.looseObject({}), path, { msgtype: 'm.text', body: text }, 'PUT');
  }

  /** All messages of a room, the oldest first. */
  async history(room: string): Promise<MatrixEvent[]> {
    const page = z.object({ chunk: z.array(event), end: z.string().optional() });
    const found: MatrixEvent[] = [];
    const filter = encodeURIComponent(JSON.stringify({ types: ['m.room.message'] }));
    for (let from = ''; ;) {
      const path = `rooms/${encodeURIComponent(room)}/messages?dir=b&limit=500&filter=${filter}${from}`;
      const { chunk, end } = await this.#call(page, path);
      found.unshift(...chunk.toReversed());
      if (end === undefined) return found;
      from = `&from=${encodeURIComponent(end)}`;
    }
  }

  async #call<T>(schema: z.ZodType<T>, path: string, body?: object, method?: 'PUT'): Promise<T> {
    return await call(schema, `${this.#base}/${path}`, { body, token: this.token, method });
  }
}

async function call<T>(
  schema: z.ZodType<T>,
  url: string,
  { body, token, method }: { body?: object | undefined; token?: string; method?: 'PUT' | undefined } = {},
): Promise<T> {
  const answer = await fetch(url, {
    method: method ?? (body ? 'POST' : 'GET'),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return schema.parse(await answer.json());
}
