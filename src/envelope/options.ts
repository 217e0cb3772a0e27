import { SynodError } from './refusal.ts';

/** The keys that some options may have: each key of their type. */
export type Keys<Options> = { readonly [Key in keyof Options]-?: true };

/**
 * What a caller without types may leave out: a function.
 * @throws SynodError `invalid_envelope` naming it, before anything is sent.
 */
export function needed(functions: { readonly [name: string]: unknown }): void {
  for (const [name, value] of Object.entries(functions))
    if (typeof value !== 'function') throw new SynodError('invalid_envelope', `${name} must be a function`);
}

/**
 * Options as a caller without types may give them: a key that nobody reads is a misspelt one, and would be lost in silence.
 * @throws SynodError `invalid_envelope` naming the key, before anything is sent.
 */
export function known<Options extends object>(name: string, options: Options, keys: Keys<Options>): void {
  if (typeof options !== 'object' || options === null)
    throw new SynodError('invalid_envelope', `${name} must be an object`);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(keys, key)) continue;
    const all = Object.keys(keys);
    const meant = all.find((each) => bare(each) === bare(key));
    const hint = meant === undefined ? `it may have ${all.join(', ')}` : `did you mean ${meant}?`;
    throw new SynodError('invalid_envelope', `${name} has no ${key}: ${hint}`);
  }
}

/** Some names are those of the envelope's fields, some those of TypeScript. */
function bare(key: string): string {
  return key.replaceAll('_', '').toLowerCase();
}
