// Records a history of every workflow type for the replay test: `node --import tsx test/histories/record.ts [scenario...]`.
// Record again only beside a change that `patched()` guards: the old files must go on replaying.
import { writeFile } from 'node:fs/promises';
import { REVISION } from '../../src/host/revision.ts';
import { runsOf, toJson } from '../support/history.ts';
import { scenarios } from '../support/scenarios.ts';
import { startStack } from '../support/stack.ts';

/** Who ran it is nobody's business, and differs at every recording. */
const SCRUBBED: Record<string, string> = { identity: 'recorder', requestId: 'request', binaryChecksum: '' };

function scrubbed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(scrubbed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, SCRUBBED[field] ?? scrubbed(inner)]));
}

// So early a suggestion that a short scenario has a run which was continued.
const stack = await startStack({
  server: { extraArgs: ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=60'] },
});
try {
  const wanted = process.argv.slice(2);
  for (const [name, run] of Object.entries(scenarios)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const wire = await run(stack.client, 'recorded');
    const runs = await runsOf(stack.client, wire.workflowId);
    // The first run, and one that was continued: which more there are tells nothing new.
    for (const [i, { events }] of runs.slice(0, 2).entries()) {
      // Those of earlier rules stay: runs under way replay them.
      const file = new URL(`${name}-r${REVISION}-${i + 1}.json`, import.meta.url);
      // The sticky queue of a worker is named after its process and machine.
      const named = JSON.stringify({ workflowId: wire.workflowId, history: scrubbed(toJson(events)) });
      await writeFile(file, `${named.replaceAll(/"\d+@[^"]*"/g, '"recorder-sticky"')}\n`);
      console.log(`${file.pathname.split('/').at(-1)}: ${events.length} events, ${named.length} bytes`);
    }
  }
} finally {
  await stack.stop();
}
