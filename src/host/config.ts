import type { z } from 'zod';
import { maxWaits } from '../envelope/calls.ts';
import { seconds, type Json } from '../envelope/fields.ts';
import { DEFAULT_LINGER_SECONDS, DEFAULT_MAX_WAITS, MAX_CONFIG_BYTES, utf8Bytes } from '../envelope/limits.ts';

/** Ignored keys that are shown, and how much of each, in UTF-16 units. */
const MAX_IGNORED = 32;
const MAX_IGNORED_KEY = 64;

type Values = { readonly [key: string]: Json };
type Keys = { readonly [key: string]: z.ZodType<Json> };

const COMMON: Keys = { max_waits: maxWaits };
const COMPLETING: Keys = { linger_seconds: seconds({ zero: true }) };

interface ConfigOptions {
  /** The protocol's own keys. */
  readonly keys: Keys;
  /** Whether the workflow completes by itself. */
  readonly completes: boolean;
  /** The keys that only the start sets. Default: none. */
  readonly fixed?: ReadonlySet<string> | undefined;
}

/** A workflow's configuration: the first start fixes it, `config.set` changes it. Unknown and bad keys are ignored and shown. */
export class Config {
  readonly #keys: Keys;
  readonly #fixed: ReadonlySet<string>;
  #values: Values;
  #ignored: readonly string[];

  /** @param ignored what an earlier run has ignored, beside what is ignored of `values`. */
  constructor({ keys, completes, fixed = new Set() }: ConfigOptions, values: Values, ignored: readonly string[] = []) {
    this.#keys = { ...COMMON, ...(completes ? COMPLETING : {}), ...keys };
    this.#fixed = fixed;
    const read = this.#merged({}, values, new Set());
    this.#values = read.values;
    this.#ignored = [...ignored, ...read.ignored].slice(0, MAX_IGNORED);
  }

  /** Why it is larger than it may be, naming the largest key; undefined where it is not. */
  get fault(): string | undefined {
    return faultOf(this.#values);
  }

  /** Merges by key; null removes. @returns why nothing was changed, where it would have become too large. */
  merge(changes: Values): string | undefined {
    const { values, ignored } = this.#merged(this.#values, changes, this.#fixed);
    const fault = faultOf(values);
    if (fault !== undefined) return fault;
    this.#values = values;
    this.#ignored = ignored.slice(0, MAX_IGNORED);
    return undefined;
  }

  #merged(before: Values, changes: Values, fixed: ReadonlySet<string>): { values: Values; ignored: string[] } {
    const ignored: string[] = [];
    const values: { [key: string]: Json } = { ...before };
    for (const [key, value] of Object.entries(changes)) {
      const schema = Object.hasOwn(this.#keys, key) && !fixed.has(key) ? this.#keys[key] : undefined;
      const parsed = value === null ? undefined : schema?.safeParse(value);
      if (!schema || (parsed && !parsed.success)) ignored.push(key.slice(0, MAX_IGNORED_KEY));
      else if (parsed) values[key] = parsed.data;
      else delete values[key];
    }
    return { values, ignored };
  }

  get values(): Values {
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

function faultOf(values: Values): string | undefined {
  const sizes = Object.entries(values).map(([key, value]) => ({ key, bytes: utf8Bytes(JSON.stringify(value)) }));
  if (utf8Bytes(JSON.stringify(values)) <= MAX_CONFIG_BYTES) return undefined;
  const largest = sizes.reduce((most, each) => (each.bytes > most.bytes ? each : most));
  return `config.${largest.key} makes config larger than ${MAX_CONFIG_BYTES} bytes of JSON`;
}
