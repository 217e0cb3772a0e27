import type { Load } from './measures.ts';

/** What a section has measured. */
export interface Section {
  readonly loads?: { readonly [name: string]: Load };
  readonly figures?: { readonly [name: string]: number };
}

/** A table for people. */
export function table(sections: readonly Section[]): string {
  const head = [
    'load',
    'procs',
    'agents',
    'ops/s',
    'p50 ms',
    'p99 ms',
    'max ms',
    'errors',
    'retries',
    'events/op',
    'runs',
  ];
  const rows = sections.flatMap(({ loads = {} }) =>
    Object.entries(loads).map(([name, load]) => [
      name,
      load.processes,
      load.agents,
      ...[load.per_second, load.p50_ms, load.p99_ms, load.max_ms].map(shown),
      load.errors,
      load.retries,
      load.events_per_op.toFixed(2),
      load.runs,
    ]),
  );
  const figures = sections.flatMap(({ figures: some = {} }) =>
    Object.entries(some).map(([name, value]) => [name, shown(value)]),
  );
  return [...(rows.length > 0 ? aligned([head, ...rows]) : []), '', ...aligned(figures)].join('\n').trim();
}

/** Everything in one object, with the ratios: they hold on other machines, the absolute figures do not. */
export function summary(sections: readonly Section[], run: { quick: boolean; seconds: number }): { ok: boolean } {
  const loads = Object.fromEntries(sections.flatMap((section) => Object.entries(section.loads ?? {})));
  const figures = Object.fromEntries(sections.flatMap((section) => Object.entries(section.figures ?? {})));
  const all = Object.values(loads);
  const rate = (name: string): number | undefined => loads[name]?.per_second;
  const ratios = {
    request_vs_bare: ratio(rate('request'), rate('bare')),
    group64_vs_1: ratio(rate('group-64'), rate('request')),
    events_per_op_1_vs_64: ratio(loads['request']?.events_per_op, loads['group-64']?.events_per_op),
    processes64_vs_1: ratio(rate('processes-64'), rate('processes-1')),
    processes16_vs_bare16: ratio(rate('processes-16'), rate('bare-processes-16')),
    processes64_vs_bare64: ratio(rate('processes-64'), rate('bare-processes-64')),
    processes16_vs_1: ratio(rate('processes-16'), rate('processes-1')),
    default_limit8_vs_1: ratio(rate('default-limit-8'), rate('default-limit-1')),
    locks_chat_up_vs_no_bridge: ratio(rate('locks-chat-up'), rate('locks-no-bridge')),
    locks_chat_down_vs_no_bridge: ratio(rate('locks-chat-down'), rate('locks-no-bridge')),
    cold_vs_bare: ratio(figures['cold_first_update_ms'], figures['bare_cold_first_update_ms']),
    warm_start_vs_bare: ratio(figures['warm_first_update_ms'], figures['bare_warm_first_update_ms']),
  };
  const errors = all.reduce((sum, load) => sum + load.errors, 0);
  return rounded({ ok: errors === 0, errors, ...run, ratios, figures, loads });
}

function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b === 0 ? undefined : a / b;
}

function rounded<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value, (_, v: unknown) => (typeof v === 'number' ? Number(v.toPrecision(4)) : v)),
  ) as T;
}

function shown(value: number): string {
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

function aligned(rows: readonly (readonly (string | number)[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, String(cell).length);
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? String(cell).padEnd(widths[i] ?? 0) : String(cell).padStart(widths[i] ?? 0)))
      .join('  '),
  );
}

/** Prints the figures of a load as soon as it is over. */
export function reported(name: string, load: Load): Load {
  const { per_second: rate, p50_ms: p50, p99_ms: p99, errors_by_cause: errors, retries_by_cause: retries } = load;
  console.error(
    `bench: ${name}: ${rate.toFixed(0)}/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, errors ${JSON.stringify(errors)}, retries ${JSON.stringify(retries)}`,
  );
  return load;
}
