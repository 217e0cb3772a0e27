import type { Reader } from '../connection/reader.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';

/** As much of a {@link SharedConnection} as locks need. */
export interface LockConnection extends Pick<SharedConnection, 'send' | 'view' | 'leaving' | 'beforeClosing'> {
  readonly readerOf: (workflowId: string) => Pick<Reader, 'listen'>;
}
