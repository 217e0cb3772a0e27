import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { OPERATOR_PREFIX, SYNOD } from '../envelope/envelope.ts';
import { agentId, roomName } from '../envelope/fields.ts';

/** Every room. */
export const ANY_ROOM = '*';
/** Requests a second that a token may make, averaged over {@link RATE_WINDOW_SECONDS}, unless it says otherwise. */
export const DEFAULT_RATE = 20;
export const RATE_WINDOW_SECONDS = 10;
/** The highest rate that a token may be given, in requests a second. */
export const MAX_RATE = 100_000;

const SHA256_HEX = /^[0-9a-f]{64}$/;
const TOKEN = /^synod_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;

/** A token as it is stored: never the token itself. */
export const storedToken = z
  .object({
    /** Names it in lists and for `revoke`; the first part of the token. */
    id: z.string().regex(/^[0-9a-f]{12}$/, 'must be 12 hexadecimal digits'),
    /** SHA-256 of the token, hexadecimal. The token has 256 random bits, so that no slow hash is needed. */
    hash: z.string().regex(SHA256_HEX, 'must be a SHA-256 in lower-case hexadecimal'),
    /** The one agent that it is for. */
    agent: agentId.refine((agent) => agent !== SYNOD, `must not be "${SYNOD}"`),
    rooms: z.array(z.union([roomName, z.literal(ANY_ROOM)], { error: 'must be a room, or * for all' })).min(1),
    /** It may also send as `operator:…` of its agent, and read what is addressed to others. */
    operator: z.boolean().default(false),
    /** For a process of several agents: it may send for all of them, through the hub. */
    hub: z.boolean().default(false),
    /** Requests a second, averaged over ten seconds; 0 for no limit. */
    rate: z.number().min(0).max(MAX_RATE).optional(),
  })
  .refine(({ agent, operator }) => operator || !agent.startsWith(OPERATOR_PREFIX), {
    path: ['agent'],
    error: `may start with "${OPERATOR_PREFIX}" only where operator is true`,
  });
export type StoredToken = z.infer<typeof storedToken>;

export const tokenFile = z.object({ tokens: z.array(storedToken) });

/** A new token; `token` is returned once and stored nowhere. */
export function issue(rights: Omit<z.input<typeof storedToken>, 'id' | 'hash'>): {
  token: string;
  stored: StoredToken;
} {
  const id = randomBytes(6).toString('hex');
  const token = `synod_${id}_${randomBytes(32).toString('base64url')}`;
  return { token, stored: storedToken.parse({ id, hash: hashOf(token).toString('hex'), ...rights }) };
}

/** Which of the tokens it is; compared in constant time. */
export function match(token: string, known: ReadonlyMap<string, StoredToken>): StoredToken | undefined {
  const id = TOKEN.exec(token)?.[1];
  const stored = id === undefined ? undefined : known.get(id);
  const right = timingSafeEqual(hashOf(token), stored ? Buffer.from(stored.hash, 'hex') : Buffer.alloc(32));
  return right ? stored : undefined;
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export function mayUseRoom({ rooms }: StoredToken, room: string): boolean {
  return rooms.includes(ANY_ROOM) || rooms.includes(room);
}

/** Whether a message may say that it is from this agent. */
export function maySpeakFor({ agent, operator, hub }: StoredToken, from: string): boolean {
  if (from === SYNOD) return false;
  if (from.startsWith(OPERATOR_PREFIX)) return operator && (hub || from === agent || from === OPERATOR_PREFIX + agent);
  return hub || from === agent;
}
