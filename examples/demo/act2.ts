import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { consoleLine, type ConsoleFormat } from '../../src/bridge/console.ts';
import { Agent } from '../../src/client/index.ts';
import { workflowIdOf } from '../../src/envelope/address.ts';
import { damage, type Damage } from './act1.ts';
import { Director } from './director.ts';
import { listenToKeys } from './keys.ts';
import { batchOf, LEASE_SECONDS } from './lead.ts';
import { Progress } from './progress.ts';
import { AGENTS, type Stage } from './stage.ts';
import { ResultStore } from './store.ts';
import { logOf, tellStory } from './story.ts';
import { DECISION, PHASE, summarise, type Summary } from './summary.ts';

/** How long the visitor's pause lasts: past the lease. */
const PAUSE_MS = (LEASE_SECONDS + 2) * 1_000;
/** Who does not come in so long is taken for dead. */
const BARRIER_SECONDS = 6;
const DEADLINE_SECONDS = 30;

export interface Act2 {
  readonly summary: Summary;
  readonly damage: Damage;
  /** What happened to whom, in sentences. */
  readonly story: readonly string[];
  /** The visitor had a hand in it: who was lost is then no figure of the demo's. */
  readonly interfered: boolean;
}

/** The second act: the agents share the work through Synod. */
export async function actWith(
  stage: Stage,
  client: Client,
  room: string,
  env: NodeJS.ProcessEnv,
  format: ConsoleFormat,
): Promise<Act2> {
  const { files, root, signal } = stage;
  const started = performance.now();
  const store = new ResultStore(stage.folder);
  const aggregator = new Agent(client, 'aggregator');
  await stage.until(aggregator.join(room, { kind: 'aggregator', purpose: `has ${files.length} files studied` }));
  const stopListening = aggregator.listen(room, (event) => stage.note(consoleLine(event, format)), { after: 0 });
  stage.cleanUp(() => Promise.resolve(stopListening()));

  const director = new Director(stage, store, [room, root, store.report], env, batchOf(files.length));
  const keys = listenToKeys(stage, {
    kill: () => director.strike('kill'),
    pause: () => director.strike('stop', PAUSE_MS),
    post: (text) => void aggregator.post(room, text).catch((error: unknown) => stage.tell(String(error))),
  });
  const progress = new Progress(aggregator, room, (taskId) => director.ended(taskId));
  stage.cleanUp(() => Promise.resolve(progress.close()));
  await stage.until(director.start());
  await stage.until(progress.until(files.length, signal));
  await stage.until(director.lateWords());
  await stage.until(publish(stage, aggregator, room, store));
  keys.stop();
  // Read before they leave: each that goes makes room for another coordinator.
  const election = await stage.until(logOf(client, workflowIdOf(room, 'coordinator', 'main')));
  await director.crew.end();
  const seconds = (performance.now() - started) / 1_000;
  const { mishaps, refusedDirectives } = director;
  return await stage.until(
    (async () => ({
      summary: await summarise(client, room, files, store, election, refusedDirectives, seconds),
      damage: damage(stage, store, seconds),
      story: await tellStory(client, room, mishaps, store, election, refusedDirectives),
      interfered: keys.used,
    }))(),
  );
}

/** Waits for all workers, dead or alive, lets those who came decide, and publishes the report if they say yes. */
async function publish(stage: Stage, aggregator: Agent, room: string, store: ResultStore): Promise<void> {
  const place = aggregator.room(room);
  stage.tell(`the aggregator waits for ${AGENTS.length} workers`);
  const { arrived, dropped } = await place.barrier(
    PHASE,
    { roster: AGENTS, timeoutSeconds: BARRIER_SECONDS, fallback: 'proceed', quorum: 1 },
    stage.signal,
  );
  stage.tell(`${arrived.join(', ')} came${dropped.length === 0 ? '' : `; ${dropped.join(', ')} did not`}`);
  const decision = await place.decide(
    {
      proposal_id: DECISION,
      question: 'Is the report to be published?',
      voters: arrived,
      quorum: Math.floor(arrived.length / 2) + 1,
      deadlineSeconds: DEADLINE_SECONDS,
    },
    stage.signal,
  );
  const yes = decision.outcome === 'committed' && decision.choice === 'yes';
  stage.tell(yes ? 'a majority decided that the report is published' : 'the report is not published');
  if (yes) copyFileSync(store.report, join(stage.folder, 'published.md'));
}
