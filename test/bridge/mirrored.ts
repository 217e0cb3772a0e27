import type { Client } from '@temporalio/client';
import { Agent } from '../../src/client/index.ts';
import { POSSIBLE_REPEAT } from '../../src/bridge/deliver.ts';

/** Posts `count` numbered messages of some agents to a room, as fast as their answers come. */
export async function talk(client: Client, room: string, count: number, agents: number, from = 0): Promise<void> {
  const posters = Array.from({ length: agents }, (_, i) => new Agent(client, `agent-${i}`));
  let next = from;
  const postOne = async (agent: Agent): Promise<void> => {
    while (next < from + count) {
      const number = (next += 1);
      await agent.post(room, `message <${number}> of ${agent.id}`);
    }
  };
  await Promise.all(posters.map(postOne));
}

/** The numbers of the messages in the order of the room's log. */
export async function saidIn(client: Client, room: string, count: number): Promise<number[]> {
  const numbers: number[] = [];
  await new Promise<void>((resolve) => {
    const stop = new Agent(client, 'reader').listen(
      room,
      ({ envelope }) => {
        if (envelope.type === 'room.post') numbers.push(...numbersIn(JSON.stringify(envelope['text'])));
        if (numbers.length < count) return;
        stop();
        resolve();
      },
      { after: 0 },
    );
  });
  return numbers;
}

/** The numbers of all messages in some texts, in order. */
export function numbersIn(...texts: readonly string[]): number[] {
  return texts.flatMap((text) => [...text.matchAll(/message <(\d+)>/g)].map(([, number]) => Number(number)));
}

/** The numbers in a chat without those of posts that are marked as possible repeats of what is there already. */
export function numbersOnce(texts: readonly string[]): number[] {
  const seen = new Set<number>();
  return texts.flatMap((text) => {
    const marked = text.startsWith(POSSIBLE_REPEAT);
    return numbersIn(text).filter((number) => {
      const again = marked && seen.has(number);
      seen.add(number);
      return !again;
    });
  });
}
