import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { consoleLine, type ConsoleFormat } from '../../src/bridge/console.ts';
import { Agent } from '../../src/client/index.ts';
import { workflowIdOf } from '../../src/envelope/address.ts';
import { figuresOf, type ActFigures } from './act1.ts';
import { Scenario } from './scenario.ts';
import { listenToKeys } from './keys.ts';
import { batchOf, LEASE_SECONDS } from './lead.ts';
import { Progress } from './progress.ts';
import { AGENTS, type DemoContext } from './context.ts';
import { ResultStore } from './store.ts';
import { logOf, describeTimeline } from './timeline.ts';
import { DECISION, PHASE, summarise, type Summary } from './summary.ts';

/** How long an agent is paused by the key: past the lease. */
const PAUSE_MS = (LEASE_SECONDS + 2) * 1_000;
/** Who does not check in within this time is dropped. */
const BARRIER_SECONDS = 6;
const DEADLINE_SECONDS = 30;

export interface Act2 {
  readonly summary: Summary;
  readonly figures: ActFigures;
  /** What happened to whom, in sentences. */
  readonly timeline: readonly string[];
  /** A key was used to kill or pause an agent: the number of lost agents is then not the planned one. */
  readonly interfered: boolean;
}

/** The second act: the agents share the work through Synod. */
export async function actWith(
  context: DemoContext,
  client: Client,
  room: string,
  env: NodeJS.ProcessEnv,
  format: ConsoleFormat,
): Promise<Act2> {
  const { files, root, signal } = context;
  const started = performance.now();
  const store = new ResultStore(context.folder);
  const aggregator = new Agent(client, 'aggregator');
  await context.until(
    aggregator.join(room, { kind: 'aggregator', purpose: `collects the results of ${files.length} files` }),
  );
  const stopListening = aggregator.listen(room, (event) => context.log(consoleLine(event, format)), { after: 0 });
  context.cleanUp(() => Promise.resolve(stopListening()));

  const scenario = new Scenario(context, store, [room, root, store.report], env, batchOf(files.length));
  const keys = listenToKeys(context, {
    kill: () => scenario.inject('kill'),
    pause: () => scenario.inject('stop', PAUSE_MS),
    post: (text) => void aggregator.post(room, text).catch((error: unknown) => context.highlight(String(error))),
  });
  const progress = new Progress(aggregator, room, (taskId) => scenario.ended(taskId));
  context.cleanUp(() => Promise.resolve(progress.close()));
  await context.until(scenario.start());
  await context.until(progress.until(files.length, signal));
  await context.until(scenario.lateMessages());
  await context.until(publish(context, aggregator, room, store));
  keys.stop();
  // Read before they leave: each that goes makes room for another coordinator.
  const election = await context.until(logOf(client, workflowIdOf(room, 'coordinator', 'main')));
  await scenario.processes.end();
  const seconds = (performance.now() - started) / 1_000;
  const { injectedFaults, refusedDirectives } = scenario;
  return await context.until(
    (async () => ({
      summary: await summarise(client, room, files, store, election, refusedDirectives, seconds),
      figures: figuresOf(context, store, seconds),
      timeline: await describeTimeline(client, room, injectedFaults, store, election, refusedDirectives),
      interfered: keys.used,
    }))(),
  );
}

/** Waits at the barrier for all workers, lets those that checked in decide, and publishes the report if they decide yes. */
async function publish(context: DemoContext, aggregator: Agent, room: string, store: ResultStore): Promise<void> {
  const place = aggregator.room(room);
  context.highlight(`the aggregator waits for ${AGENTS.length} workers`);
  const { arrived, dropped } = await place.barrier(
    PHASE,
    { roster: AGENTS, timeoutSeconds: BARRIER_SECONDS, fallback: 'proceed', quorum: 1 },
    context.signal,
  );
  context.highlight(`${arrived.join(', ')} checked in${dropped.length === 0 ? '' : `; ${dropped.join(', ')} did not`}`);
  const decision = await place.decide(
    {
      proposalId: DECISION,
      question: 'Is the report to be published?',
      voters: arrived,
      quorum: Math.floor(arrived.length / 2) + 1,
      deadlineSeconds: DEADLINE_SECONDS,
    },
    context.signal,
  );
  const yes = decision.outcome === 'committed' && decision.choice === 'yes';
  context.highlight(yes ? 'a majority decided that the report is published' : 'the report is not published');
  if (yes) copyFileSync(store.report, join(context.folder, 'published.md'));
}
