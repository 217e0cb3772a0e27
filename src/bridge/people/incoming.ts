import { createHash } from 'node:crypto';
import { messageOf } from '../../dev/log.ts';
import { accepted } from '../../client/messages/answers.ts';
import { compose } from '../../client/messages/compose.ts';
import { roomTarget } from '../../envelope/targets.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { roomMessages } from '../../envelope/room.ts';
import type { ChatMessage } from '../adapter.ts';
import { split } from '../split.ts';
import { act, type ActCommand } from './act.ts';
import { HELP, readMessage, type Command } from './command.ts';
import { mayDo, type Act, type People, type Person } from './list.ts';
import { locks, tasks, who, type StatusSource } from './status.ts';

/** UTF-16 units and bytes of one post to the room: within its 4,000 characters and the 16 KiB of an envelope. */
const MAX_UNITS = 4_000;
const MAX_BYTES = 15_000;
/** People who are not listed and of whom it has been noted. */
const MAX_NOTED = 100;

export interface IncomingOptions extends StatusSource {
  /** The chat, as its ledger is called. */
  readonly chat: string;
  readonly people: People;
  readonly onNote: (note: string) => void;
}

/** What the people of one chat write, brought to the room: who is listed posts and acts there, and nobody else. */
export class Incoming {
  readonly #options: IncomingOptions;
  /** Begins the ids of all that comes from this chat. */
  readonly #prefix: string;
  readonly #noted = new Set<string>();

  constructor(options: IncomingOptions) {
    this.#options = options;
    this.#prefix = `chat-${hash(JSON.stringify([options.room, options.chat])).slice(0, 16)}-`;
  }

  /** Whether an entry of the room's log is what somebody wrote in this very chat. */
  isFromChat({ type, id, from }: Envelope): boolean {
    return type === 'room.post' && id.startsWith(this.#prefix) && this.#options.people.postsAs(from);
  }

  /**
   * Does what a message asks for, or posts it; received again, it does nothing twice. What fails is noted: one message must not
   * keep those after it from the room.
   * @returns what to answer; undefined for nothing.
   */
  async receive(message: ChatMessage): Promise<string | undefined> {
    const person = this.#options.people.of(message.author);
    try {
      if (person) return await this.#fromPerson(message, person);
      return await this.#fromUnlisted(message);
    } catch (error) {
      if (error instanceof SynodError) return person ? `Refused: ${error.message}` : undefined;
      this.#options.onNote(`message ${message.id} of the chat failed: ${messageOf(error)}; the next one comes`);
      return person ? 'Failed: the bridge could not do it; its notes say why.' : undefined;
    }
  }

  async #fromPerson(message: ChatMessage, person: Person): Promise<string | undefined> {
    const parsed = readMessage(message.text);
    if (parsed.kind === 'unclear') return parsed.answer;
    if (parsed.kind === 'command') return await this.#answer(message, person, parsed.command);
    if (parsed.text === '') return undefined;
    allow(person, 'post');
    return await this.#post(message, person.agent, parsed.text);
  }

  async #answer(message: ChatMessage, person: Person, command: Command): Promise<string> {
    switch (command.name) {
      case 'help':
        return HELP;
      case 'tasks':
        return await tasks(this.#options, person.agent);
      case 'locks':
        return await locks(this.#options);
      case 'who':
        return await who(this.#options);
      default:
        return await this.#act(message, person, command);
    }
  }

  async #act(message: ChatMessage, person: Person, command: ActCommand): Promise<string> {
    allow(person, command.name);
    const { connection, room } = this.#options;
    return await act(command, { connection, room, person, id: this.#idOf(message, 0) });
  }

  /** Who is not listed gets no answer: whoever floods the chat would make the bridge flood it as well. */
  async #fromUnlisted(message: ChatMessage): Promise<undefined> {
    const { author } = message;
    const { guests } = this.#options.people;
    const parsed = readMessage(message.text);
    if (guests !== undefined && parsed.kind === 'text' && parsed.text !== '')
      return await this.#post(message, guests, `${author}: ${parsed.text}`);
    if (this.#noted.has(author) || this.#noted.size === MAX_NOTED) return undefined;
    this.#noted.add(author);
    this.#options.onNote(`${author} is not on the list of people: what it writes is left out`);
    return undefined;
  }

  async #post(message: ChatMessage, from: string, text: string): Promise<undefined> {
    const { connection, room } = this.#options;
    for (const [part, { text: piece }] of split(text.replace(/\p{Surrogate}/gu, '\ufffd'), fits).entries()) {
      const fields = { type: 'room.post', text: piece, id: this.#idOf(message, part) };
      accepted(await connection.send(roomTarget(room), compose(roomMessages['room.post'], from, fields)));
    }
    return undefined;
  }

  /** The same whenever the message is read, so that the room knows it again. */
  #idOf({ id }: ChatMessage, part: number): string {
    return `${this.#prefix}${hash(id)}-${part}`;
  }
}

function allow(person: Person, what: Act): void {
  if (!mayDo(person, what)) throw new SynodError('unauthorized', `${person.agent} may not ${what} from this chat`);
}

function fits(text: string): boolean {
  return text.length <= MAX_UNITS && Buffer.byteLength(JSON.stringify(text)) <= MAX_BYTES;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
