import { z } from 'zod';

/** An object whose keys are names that users choose, such as resources, options or agents. Read it with {@link valueOf}. */
export type ByName<Value> = { [name: string]: Value };

/**
 * The schema of an object keyed by users' names. It keeps every key of its own: zod's records drop `__proto__`.
 * @param value the schema of each value.
 * @param name the schema of each key; default: any string.
 */
export function byName<Value>(value: z.ZodType<Value>, name: z.ZodType<string> = z.string()): z.ZodType<ByName<Value>> {
  const rule = (issue: { input?: unknown }) => (issue.input === undefined ? 'is missing' : 'must be an object');
  return z
    .custom<object>((raw) => typeof raw === 'object' && raw !== null && !Array.isArray(raw), { error: rule })
    .meta({ type: 'object' })
    .transform((raw, context) => {
      const entries = Object.entries(raw).flatMap(([key, item]: [string, unknown]) => {
        const parsedKey = name.safeParse(key);
        const parsed = value.safeParse(item);
        for (const issue of [...(parsedKey.error?.issues ?? []), ...(parsed.error?.issues ?? [])])
          context.addIssue({ code: 'custom', input: item, path: [key, ...issue.path], message: issue.message });
        return parsedKey.success && parsed.success ? [[parsedKey.data, parsed.data] as const] : [];
      });
      return fromNames(entries);
    });
}

/** An object keyed by users' names. Unlike an assignment, it makes `__proto__` a key as any other. */
export function fromNames<Value>(entries: Iterable<readonly [string, Value]>): ByName<Value> {
  return Object.fromEntries(entries);
}

/** The value of a name; undefined where the object has none of its own, also where every object inherits such a key. */
export function valueOf<Value>(values: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** How often each name occurs. */
export function countByName(names: Iterable<string>): ByName<number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return fromNames(counts);
}
