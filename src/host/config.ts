import type { z } from 'zod';
import { maxWaits } from '../envelope/calls.ts';
import { seconds, type Json } from '../envelope/fields.ts';
import { DEFAULT_LINGER_SECONDS, DEFAULT_MAX_WAITS } from '../envelope/limits.ts';

type Keys = { readonly [key: string]: z.ZodType<Json> };

const COMMON: Keys = { max_waits: maxWaits };
const COMPLETING: Keys = { linger_seconds: seconds({ zero: true }) };

/** A workflow's configuration: the first start fixes it, `config.set` changes it. Unknown and bad keys are ignored and shown. */
export class Config {
  readonly #keys: Keys;
  readonly #fixed: ReadonlySet<string>;
  #values: { [key: string]: Json };
  #ignored: readonly string[] = [];

  /** @param fixed the keys that only the start sets. */
  constructor(
    protocolKeys: Keys,
    completes: boolean,
    values: { readonly [key: string]: Json } = {},
    fixed: ReadonlySet<string> = new Set(),
  ) {
    this.#keys = { ...COMMON, ...(completes ? COMPLETING : {}), ...protocolKeys };
    this.#fixed = fixed;
    this.#values = {};
    this.#merge(values, new Set());
  }

  /** Merges by key; null removes. */
  merge(changes: { readonly [key: string]: Json }): void {
    this.#merge(changes, this.#fixed);
  }

  #merge(changes: { readonly [key: string]: Json }, fixed: ReadonlySet<string>): void {
    const ignored: string[] = [];
    for (const [key, value] of Object.entries(changes)) {
      const schema = Object.hasOwn(this.#keys, key) && !fixed.has(key) ? this.#keys[key] : undefined;
      const parsed = value === null ? undefined : schema?.safeParse(value);
      if (!schema || (parsed && !parsed.success)) ignored.push(key.slice(0, 64));
      else if (parsed) this.#values[key] = parsed.data;
      else delete this.#values[key];
    }
    this.#ignored = ignored.slice(0, 32);
  }

  get values(): { readonly [key: string]: Json } {
    return this.#values;
  }

  /** The keys of the last change that were unknown, had a bad value or are fixed by the start. */
  get ignored(): readonly string[] {
    return this.#ignored;
  }

  get maxWaits(): number {
    return this.#number('max_waits', DEFAULT_MAX_WAITS);
  }

  get lingerMs(): number {
    return this.#number('linger_seconds', DEFAULT_LINGER_SECONDS) * 1000;
  }

  get retain(): number | undefined {
    return typeof this.#values['retain'] === 'number' ? this.#values['retain'] : undefined;
  }

  #number(key: string, fallback: number): number {
    const value = this.#values[key];
    return typeof value === 'number' ? value : fallback;
  }
}
