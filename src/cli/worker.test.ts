import { expect, it } from 'vitest';
import { namespaceProblem } from './worker.ts';

/** An error as gRPC makes it. */
const grpc = (code: number, details: string) =>
  Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });

it('says that there is no namespace only where the server says so', () => {
  expect(namespaceProblem('a:1', 'lab', grpc(5, 'not found')).message).toContain('has no namespace lab: create it');
  for (const cause of [grpc(14, 'unavailable'), grpc(7, 'denied'), new Error('closed')])
    expect(namespaceProblem('a:1', 'lab', cause).message).toBe(
      `the server at a:1 was asked for its namespace lab and failed: ${cause.message}`,
    );
});
