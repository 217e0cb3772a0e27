import type { z } from 'zod';
import { accepted } from '../../client/messages/answers.ts';
import { compose } from '../../client/messages/compose.ts';
import type { SharedConnection } from '../../client/connection/sharedConnection.ts';
import { forceRelease } from '../../client/locks/status.ts';
import { barrierTarget, proposalTarget, roomTarget, taskTarget } from '../../envelope/targets.ts';
import type { Target } from '../../envelope/address.ts';
import { barrierMessages } from '../../envelope/barrier.ts';
import { decisionMessages } from '../../envelope/decision.ts';
import type { Base, Envelope } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { roomMessages } from '../../envelope/room.ts';
import { taskMessages } from '../../envelope/task.ts';
import type { Command } from './command.ts';
import type { Act, Person } from './list.ts';

/** A command that does something. */
export type ActCommand = Extract<Command, { name: Act }>;

/** Who does it, where, and under which id, which is the same however often the message is read. */
export interface Actor {
  readonly connection: SharedConnection;
  readonly room: string;
  readonly person: Person;
  readonly id: string;
}

/**
 * Does what a person asks for.
 * @returns what to answer.
 * @throws SynodError why it is refused.
 */
export async function act(command: ActCommand, actor: Actor): Promise<string> {
  const { connection, room, person } = actor;
  switch (command.name) {
    case 'vote': {
      const { proposal, choice } = command;
      const fields = { type: 'decision.vote', proposal_id: proposal, choice };
      const [voted] = await send(
        actor,
        person.agent,
        proposalTarget(room, proposal),
        decisionMessages['decision.vote'],
        fields,
      );
      return `${person.agent} has voted ${choice} on ${proposal}${tallyOf(voted)}`;
    }
    case 'resolve': {
      const { phase, action, seconds } = command;
      const fields = { type: 'barrier.resolve', phase, action, extend_seconds: seconds };
      await send(actor, operatorOf(person), barrierTarget(room, phase), barrierMessages['barrier.resolve'], fields);
      return `${phase}: ${action}`;
    }
    case 'release':
      await forceRelease(connection, room, operatorOf(person), {
        lock_id: command.lock,
        reason: command.reason,
        id: actor.id,
      });
      return `${command.lock} is released`;
    case 'cancel': {
      // Whoever announced a task may cancel it without being an operator.
      const from = person.operator ?? person.agent;
      const fields = { type: 'task.cancel', task_id: command.task, reason: command.reason };
      await send(actor, from, taskTarget(room, command.task), taskMessages['task.cancel'], fields);
      return `${command.task} is cancelled`;
    }
    case 'pause': {
      const fields = { type: 'room.pause', reason: command.reason };
      await send(actor, operatorOf(person), roomTarget(room), roomMessages['room.pause'], fields);
      return 'The room is paused: nothing new is begun. What is under way goes on; !cancel ends a task.';
    }
    case 'resume':
      await send(actor, operatorOf(person), roomTarget(room), roomMessages['room.resume'], { type: 'room.resume' });
      return 'The room goes on.';
  }
}

async function send<M extends Base>(
  { connection, id }: Actor,
  from: string,
  target: Target,
  schema: z.ZodType<M>,
  fields: { type: string; [field: string]: unknown },
): Promise<readonly Envelope[]> {
  return accepted(await connection.send(target, compose(schema, from, { ...fields, id })));
}

function operatorOf({ operator, agent }: Person): string {
  if (operator !== undefined) return operator;
  throw new SynodError('unauthorized', `${agent} is not an operator of this room`);
}

function tallyOf(voted: Envelope | undefined): string {
  const tally = voted?.['tally'];
  if (typeof tally !== 'object' || tally === null) return '';
  return ` (${Object.entries(tally)
    .map(([choice, votes]) => `${choice} ${JSON.stringify(votes)}`)
    .join(', ')})`;
}
