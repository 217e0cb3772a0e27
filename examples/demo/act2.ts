import type { Client } from '@temporalio/client';
import { consoleLine, type ConsoleFormat } from '../../src/bridge/console.ts';
import { Agent } from '../../src/client/index.ts';
import { damage, type Damage } from './act1.ts';
import { Crew } from './crew.ts';
import { Fates, fired, type Fate } from './fates.ts';
import { listenToKeys } from './keys.ts';
import { AGENTS, DOOMED, SLEEPY, type Stage } from './stage.ts';
import { ResultStore } from './store.ts';
import { tellStory, type Mishap } from './story.ts';
import { summarise, type Summary } from './summary.ts';

/** Short, so that a lost task is soon handed on. */
const LEASE_SECONDS = 4;
/** How long the visitor's pause lasts: past the lease. */
const PAUSE_MS = (LEASE_SECONDS + 2) * 1_000;

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
  const producer = new Agent(client, 'producer');
  await stage.until(producer.join(room, { kind: 'producer', purpose: `has ${files.length} files studied` }));
  const stopListening = producer.listen(room, (event) => stage.note(consoleLine(event, format)), { after: 0 });
  stage.cleanUp(() => Promise.resolve(stopListening()));

  const mishaps: Mishap[] = [];
  /** Who is stopped, and what it holds. */
  const asleep = new Map<string, string>();
  const holds = new Map<string, string>();
  const lateWrite = new AbortController();
  const fates = new Fates({ [DOOMED]: 'kill', [SLEEPY]: 'stop' }, AGENTS.length, files.length);
  const mishap = (kind: 'kill' | 'stop', agent: string, taskId: string) => {
    mishaps.push({ kind, agent, taskId });
    stage.tell(`${agent} is ${kind === 'kill' ? 'killed' : 'stopped'} while it holds ${taskId}`);
    if (kind === 'stop') asleep.set(agent, taskId);
  };
  const fate = async (agent: string, taskId: string, token: number): Promise<Fate> => {
    holds.set(agent, taskId);
    const met = await fates.at(agent, taskId, token, signal);
    if (met !== 'go on') mishap(met, agent, taskId);
    return met;
  };
  const onWrite = (agent: string, taskId: string, refused: string | undefined) => {
    holds.delete(agent);
    if (refused !== undefined) stage.tell(`the late write of ${agent} on ${taskId} is refused: ${refused}`);
    // Accepted or not: the summary tells which.
    if (agent === SLEEPY && taskId === asleep.get(agent)) lateWrite.abort();
  };
  const onEnded = (agent: string, how: string) => stage.fail(new Error(`${agent} has ended by itself: ${how}`));
  const crew = new Crew({ program: 'agent.ts', args: [room, root], env, store, fate, onWrite, onEnded });
  stage.cleanUp(() => crew.end());
  for (const id of AGENTS) crew.start(id);

  const keys = listenToKeys(stage, {
    kill: () => {
      const [agent, ...others] = crew.active.toReversed();
      if (agent === undefined || others.length === 0) return stage.tell('only one agent is left: it is spared');
      fates.spare(agent);
      mishap('kill', agent, holds.get(agent) ?? 'nothing');
      crew.kill(agent);
    },
    pause: () => {
      const [agent, ...others] = crew.active.filter((id) => id !== SLEEPY);
      if (agent === undefined || others.length === 0) return stage.tell('only one agent is left: it is spared');
      mishap('stop', agent, holds.get(agent) ?? 'nothing');
      crew.stop(agent);
      setTimeout(() => {
        stage.tell(`${agent} is woken`);
        crew.resume(agent);
      }, PAUSE_MS).unref();
    },
    post: (text) => void producer.post(room, text).catch((error: unknown) => stage.tell(String(error))),
  });

  const announced = await stage.until(
    Promise.all(
      files.map(({ taskId, label, path }) =>
        producer.announce(room, {
          task_id: taskId,
          title: label,
          input: { path },
          lease_seconds: LEASE_SECONDS,
          claim_seconds: 20,
          linger_seconds: 1,
        }),
      ),
    ),
  );
  await stage.until(
    Promise.all(
      announced.map(async ({ task_id, outcome }) => {
        await outcome(signal);
        if (task_id !== asleep.get(SLEEPY)) return;
        stage.tell(`${SLEEPY} is woken: somebody else has done ${task_id} meanwhile`);
        crew.resume(SLEEPY);
      }),
    ),
  );
  if (asleep.has(SLEEPY) && crew.active.includes(SLEEPY)) await stage.until(fired(lateWrite.signal));
  keys.stop();
  await crew.end();
  const seconds = (performance.now() - started) / 1_000;
  return await stage.until(
    (async () => ({
      summary: await summarise(client, room, files, store, seconds),
      damage: damage(stage, store, seconds),
      story: await tellStory(client, room, mishaps, store.refusals()),
      interfered: keys.used,
    }))(),
  );
}
