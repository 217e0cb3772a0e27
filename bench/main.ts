// `npm run bench`: measures Synod beside bare Temporal, on servers and workers of its own. The last line is JSON.
import { parseArgs } from 'node:util';
import { failover } from '../test/support/failover.ts';
import { buildAll, type Built } from './build.ts';
import { AgentPool } from './agentPool.ts';
import { bridgeSection } from './chats.ts';
import {
  ascending,
  bareLoad,
  coldStart,
  idleEvents,
  lockLoad,
  postLoad,
  quantile,
  type Load,
  type LockLoad,
} from './measures.ts';
import { openStreams } from './gateway.ts';
import { summary, table, reported, type Section } from './report.ts';
import { Site } from './services.ts';

/** The loss alone takes three of them. */
const FAILOVER_HEARTBEAT_SECONDS = 1;

const HELP = `usage: npm run bench -- [--quick] [--only NAMES] [--help]

  --quick       some minutes instead of a quarter of an hour; shorter, fewer processes
  --only NAMES  some of: ${['cold', 'alone', 'processes', 'default-limit', 'hub', 'streams', 'idle', 'failover', 'locks', 'bridge'].join(', ')} (with commas)

Progress goes to stderr, a table to stdout; the last line is one JSON object. Exits with 1 if an error reached an agent.`;

const SECTIONS = [
  'cold',
  'alone',
  'processes',
  'default-limit',
  'hub',
  'streams',
  'idle',
  'failover',
  'locks',
  'bridge',
] as const;
type Name = (typeof SECTIONS)[number];

interface Bench {
  readonly built: Built;
  readonly pool: AgentPool;
  readonly quick: boolean;
  /** The server with the raised limit, and a worker for each task queue. */
  readonly site: Site;
}

const run: Record<Name, (bench: Bench) => Promise<Section>> = {
  cold: async ({ built, site, quick }) => {
    const samples = quick ? 2 : 5;
    const synod: { cold: number; warm: number }[] = [];
    const bare: { cold: number; warm: number }[] = [];
    for (let i = 0; i < samples; i++) {
      synod.push(await coldStart(site, 'synod', 10));
      bare.push(await coldStart(site, 'bare', 10));
    }
    const median = (some: typeof synod, which: 'cold' | 'warm') =>
      quantile(some.map((one) => one[which]).sort(ascending), 0.5);
    return {
      figures: {
        bundle_bytes: built.bundles.synod.bytes,
        bare_bundle_bytes: built.bundles.bare.bytes,
        cold_first_update_ms: median(synod, 'cold'),
        bare_cold_first_update_ms: median(bare, 'cold'),
        warm_first_update_ms: median(synod, 'warm'),
        bare_warm_first_update_ms: median(bare, 'warm'),
      },
    };
  },

  alone: async ({ site, pool, quick }) => {
    const seconds = quick ? 3 : 8;
    const alone = { seconds, processes: 1, listen: false };
    return {
      loads: {
        bare: reported('bare', await bareLoad(site, pool, { seconds, processes: 1 })),
        request: reported('request', await postLoad(site, pool, { ...alone, agents: 1 })),
        'group-64': reported('group-64', await postLoad(site, pool, { ...alone, agents: 64 })),
      },
    };
  },

  processes: async ({ site, pool, quick }) => {
    const seconds = quick ? 3 : 10;
    const bare: Record<string, Load> = {};
    for (const processes of quick ? [16] : [16, 64]) {
      const name = `bare-processes-${processes}`;
      bare[name] = reported(name, await bareLoad(site, pool, { seconds, processes }));
    }
    const { loads } = await manyProcesses(site, pool, 'processes', quick ? [1, 4, 16] : [1, 4, 8, 16, 64], seconds);
    return { loads: { ...bare, ...loads } };
  },

  'default-limit': async ({ built, pool, quick }) => {
    const site = await Site.open(built, null);
    try {
      await site.work('synod');
      return await manyProcesses(site, pool, 'default-limit', quick ? [1, 8] : [1, 2, 4, 6, 8], quick ? 3 : 10);
    } finally {
      await site.close();
    }
  },

  hub: async ({ built, pool, quick }) => {
    const site = await Site.open(built, null);
    try {
      await site.work('synod');
      const { url, token } = await site.gateway();
      const loads: Record<string, Load> = {};
      // Side by side: the same server, as it is unless configured, first direct and then through the hub.
      for (const processes of quick ? [1, 8] : [1, 8, 16, 64]) {
        for (const [name, hub] of [
          ['limit-direct', undefined],
          ['limit-hub', { url, token }],
        ] as const) {
          // Past eight, direct calls wait for minutes.
          if (!hub && processes > 8) continue;
          const load = { processes, agents: 1, listen: true, seconds: quick ? 3 : 10, ...(hub ? { hub } : {}) };
          loads[`${name}-${processes}`] = reported(`${name}-${processes}`, await postLoad(site, pool, load));
        }
      }
      return { loads };
    } finally {
      await site.close();
    }
  },

  streams: async ({ site, pool, quick }) => {
    const gateway = await site.gateway();
    const figures = await openStreams(gateway, pool, { streams: quick ? 400 : 2_000, seconds: quick ? 3 : 10 });
    await gateway.stop();
    return { figures };
  },

  idle: async ({ site, pool, quick }) => {
    const seconds = quick ? 10 : 40;
    return {
      figures: {
        idle_events_a_minute_1_reader: await idleEvents(site, pool, 1, seconds),
        idle_events_a_minute_3_readers: await idleEvents(site, pool, 3, seconds),
      },
    };
  },

  failover: async ({ site, quick }) => {
    const samples: number[] = [];
    for (let i = 0; i < (quick ? 1 : 5); i++) {
      const { ms } = await failover(site.client, site.server.address, `failover-${i}`, FAILOVER_HEARTBEAT_SECONDS);
      console.error(`bench: failover: ${ms} ms`);
      samples.push(ms);
    }
    samples.sort(ascending);
    return {
      figures: {
        // From the last heartbeat of a coordinator that is killed to the next one's first accepted directive.
        failover_ms: quantile(samples, 0.5),
        failover_max_ms: quantile(samples, 1),
      },
    };
  },

  locks: async ({ site, pool, quick }) => {
    const seconds = quick ? 3 : 10;
    const gateway = await site.gateway();
    const { url, token } = gateway;
    const sizes: Record<string, Omit<LockLoad, 'seconds'>> = {
      'lock-alone': { processes: 1, agents: 1, shared: false },
      'lock-64': { processes: 1, agents: 64, shared: false },
      'lock-64-of-16': { processes: 16, agents: 64, shared: false },
      'lock-64-hub': { processes: 16, agents: 64, shared: false, hub: { url, token } },
      'lock-one-50': { processes: 1, agents: 50, shared: true },
      // A hand-over among few and among many, by as many processes.
      'lock-one-10-of-8': { processes: 8, agents: 10, shared: true },
      'lock-one-1000-of-8': { processes: 8, agents: 1_000, shared: true },
    };
    const loads: Record<string, Load> = {};
    for (const [name, size] of Object.entries(sizes))
      loads[name] = reported(name, await lockLoad(site, pool, { ...size, seconds }));
    await gateway.stop();
    const rate = (name: string) => loads[name]?.per_second ?? Number.NaN;
    return {
      loads,
      figures: {
        hand_over_ms_10: 1000 / rate('lock-one-10-of-8'),
        hand_over_ms_1000: 1000 / rate('lock-one-1000-of-8'),
        hand_over_ratio_1000_to_10: rate('lock-one-10-of-8') / rate('lock-one-1000-of-8'),
      },
    };
  },

  bridge: async ({ site, pool, quick }) => await bridgeSection(site, pool, quick),
};

async function manyProcesses(
  site: Site,
  pool: AgentPool,
  name: string,
  sizes: readonly number[],
  seconds: number,
): Promise<Section> {
  const loads: Record<string, Load> = {};
  for (const processes of sizes) {
    const load = await postLoad(site, pool, { processes, agents: 1, listen: true, seconds });
    loads[`${name}-${processes}`] = reported(`${name}-${processes}`, load);
  }
  return { loads };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const chosen = values.only === undefined ? SECTIONS : chosenOf(values.only);
  const started = performance.now();
  console.error('bench: building');
  const built = await buildAll();
  const pool = new AgentPool(built.agents);
  const sections: Section[] = [];
  try {
    const site = await Site.open(built, 1_000);
    try {
      for (const name of chosen) {
        // On workers of its own; the rest shares one a queue.
        if (name !== 'cold' && !working) await work(site);
        console.error(`bench: ${name}`);
        sections.push(await run[name]({ built, pool, quick: values.quick, site }));
      }
    } finally {
      await site.close();
    }
  } finally {
    pool.end();
    await built.remove();
  }
  console.log(table(sections));
  const result = summary(sections, { quick: values.quick, seconds: (performance.now() - started) / 1000 });
  if (!result.ok) process.exitCode = 1;
  console.log(JSON.stringify(result));
}

let working = false;
async function work(site: Site): Promise<void> {
  await Promise.all([site.work('synod'), site.work('bare')]);
  working = true;
}

function chosenOf(only: string): readonly Name[] {
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !SECTIONS.some((section) => section === name));
  if (unknown.length > 0)
    throw new Error(`there is no section ${unknown.join(', ')}; there are: ${SECTIONS.join(', ')}`);
  return SECTIONS.filter((section) => names.includes(section));
}

process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
await main().catch((error: unknown) => {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
