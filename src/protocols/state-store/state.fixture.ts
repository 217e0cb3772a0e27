import type { Json } from '../../envelope/fields.ts';
import type { StateMessage } from '../../envelope/state.ts';
import { ProtocolDrive, type Fields } from '../drive.fixture.ts';
import { stateStore } from './protocol.ts';
import type { StoreState } from './state.ts';

/** The store of namespace `cfg` in room `lab`, driven message by message. */
export class StoreDrive extends ProtocolDrive<StoreState, StateMessage> {
  constructor() {
    super(stateStore, 'synod:lab:state:cfg', { namespace: 'cfg' });
  }

  put(from: string, key: string, value: Json, more: Fields = {}) {
    return this.say(from, 'put', { key, value, ...more })[0];
  }

  /** The value of a key as it is read now; undefined where it has none. */
  read(key: string): Json | undefined {
    const entries = this.say('reader', 'get', { keys: [key] })[0]?.['entries'];
    const [entry] = Array.isArray(entries) ? entries : [];
    return entry !== null && typeof entry === 'object' && !Array.isArray(entry) ? entry['value'] : undefined;
  }
}
