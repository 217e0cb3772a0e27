import { ChatError } from '../../src/bridge/adapter.ts';
import { postKey } from '../../src/bridge/key.ts';

let issued = 0;
/** The key of a post that no other test sends. */
export const newKey = (): string => postKey('lab', 'conformance', (issued += 1), 0, '');

/** What a call that must fail failed with. */
export async function faultOf(call: Promise<unknown>): Promise<ChatError> {
  const answer = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!('error' in answer)) throw new Error(`it did not fail: ${JSON.stringify(answer.value)}`);
  if (answer.error instanceof ChatError) return answer.error;
  throw answer.error;
}
