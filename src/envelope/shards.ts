import { sha256Hex } from './canonical.ts';
import { workflowIdOf } from './address.ts';

/** The most shards that a room's locks may be spread over. */
export const MAX_SHARDS = 1_000;

/** Digits of the hash that count: its first four bytes. */
const DIGITS = 8;

/**
 * What of a resource's name decides about its shard: the text in its first `{…}`, so that names that are asked for together
 * can share one; the whole name where that is empty or missing.
 */
export function shardTag(resource: string): string {
  const open = resource.indexOf('{');
  const close = open < 0 ? -1 : resource.indexOf('}', open);
  return close > open + 1 ? resource.slice(open + 1, close) : resource;
}

/** The shard of a resource, from 0: the first four bytes, big-endian, of the SHA-256 of its tag, modulo the number of shards. */
export function shardOf(resource: string, shards: number): number {
  return Number.parseInt(sha256Hex(shardTag(resource)).slice(0, DIGITS), 16) % shards;
}

/** A shard's number as workflow ids, lock ids and names of sources spell it, from 0; undefined for any other text. */
export function parseShard(text: string): number | undefined {
  return /^(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text) : undefined;
}

/** The workflow id of a room's lock manager, or of one of its shards. */
export function lockManagerId(room: string, shard?: number): string {
  const base = workflowIdOf(room, 'locks');
  return shard === undefined ? base : `${base}:${shard}`;
}

/** The shard that issued a lock's id; undefined where that was the room's only lock manager. */
export function shardOfLock(lockId: string): number | undefined {
  const digits = /^l-(\d+)-\d+$/.exec(lockId)?.[1];
  return digits === undefined ? undefined : parseShard(digits);
}

/** What the ids of a lock manager's locks begin with: no two shards issue the same id. */
export function lockIdPrefix(shard: number | undefined): string {
  return shard === undefined ? 'l-' : `l-${shard}-`;
}

/** The shard that a workflow id names; undefined where it is the room's lock manager itself, or none of its shards. */
export function shardOfManager(room: string, workflowId: string): number | undefined {
  const base = lockManagerId(room);
  return workflowId.startsWith(`${base}:`) ? parseShard(workflowId.slice(base.length + 1)) : undefined;
}
