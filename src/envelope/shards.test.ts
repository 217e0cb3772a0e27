import { describe, expect, it } from 'vitest';
import { lockIdPrefix, lockManagerId, parseShard, shardOf, shardOfLock, shardOfManager, shardTag } from './shards.ts';

describe('the shard of a resource', () => {
  // Computed apart, with another language's SHA-256.
  it.each([
    ['a', 'a', 2, 2, 2],
    ['report', 'report', 3, 3, 2],
    ['{user-1}:mail', 'user-1', 0, 4, 4],
    ['x{user-1}', 'user-1', 0, 4, 4],
    ['{}empty', '{}empty', 3, 11, 0],
    ['a}b{c', 'a}b{c', 1, 1, 1],
    ['a{b', 'a{b', 1, 1, 6],
    ['ü', 'ü', 2, 10, 0],
    ['a{b}{c}', 'b', 2, 6, 4],
  ])('%s, by its tag %s, is %i of 4, %i of 16 and %i of 7', (resource, tag, of4, of16, of7) => {
    expect(shardTag(resource)).toBe(tag);
    expect([4, 16, 7].map((shards) => shardOf(resource, shards))).toEqual([of4, of16, of7]);
    expect(shardOf(resource, 1)).toBe(0);
  });

  it('is spread over all of them', () => {
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < 4_000; i++) counts[shardOf(`resource-${i}`, 4)]! += 1;
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });

  it('has its own workflow', () => {
    expect(lockManagerId('lab')).toBe('synod:lab:locks');
    expect(lockManagerId('lab', 3)).toBe('synod:lab:locks:3');
  });

  it.each([
    ['l-7', undefined],
    ['l-0-7', 0],
    ['l-12-7', 12],
    ['x-1-7', undefined],
    ['l-1-', undefined],
    ['l-01-7', undefined],
    ['l-999-7', 999],
    ['l-1000-7', undefined],
  ])('is known from the id of its lock: %s', (lockId, shard) => {
    expect(shardOfLock(lockId)).toBe(shard);
  });

  it.each([
    ['0', 0],
    ['7', 7],
    ['999', 999],
    ['1000', undefined],
    ['01', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e2', undefined],
    [' 1', undefined],
    ['', undefined],
  ])('is spelt in one way: %j', (text, shard) => {
    expect(parseShard(text)).toBe(shard);
    expect(shardOfManager('lab', `synod:lab:locks:${text}`)).toBe(shard);
  });

  it('is none of the room’s lock manager itself, nor of another room’s', () => {
    expect(shardOfManager('lab', 'synod:lab:locks')).toBeUndefined();
    expect(shardOfManager('lab', 'synod:lab2:locks:1')).toBeUndefined();
  });

  it('begins the ids of its locks', () => {
    expect([lockIdPrefix(undefined), lockIdPrefix(12)]).toEqual(['l-', 'l-12-']);
    expect(shardOfLock(`${lockIdPrefix(12)}7`)).toBe(12);
  });
});
