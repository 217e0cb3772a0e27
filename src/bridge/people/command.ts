/** What a person can do in the chat. */
export type Command =
  | { readonly name: 'vote'; readonly choice: string; readonly proposal: string }
  | {
      readonly name: 'resolve';
      readonly phase: string;
      readonly action: string;
      /** Of `extend`; the phase's own time-out where it is not given. */
      readonly seconds?: number;
    }
  | { readonly name: 'release'; readonly lock: string; readonly reason: string }
  | { readonly name: 'cancel'; readonly task: string; readonly reason?: string }
  | { readonly name: 'pause'; readonly reason?: string }
  | { readonly name: 'resume' }
  | { readonly name: 'tasks' | 'locks' | 'who' | 'help' };

/** What a message of a person is. */
export type ParsedMessage =
  /** Free text; empty where it holds nothing but white space. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'command'; readonly command: Command }
  /** It begins like a command and is none: what to answer. */
  | { readonly kind: 'unclear'; readonly answer: string };

interface Form {
  readonly usage: string;
  readonly does: string;
  /** The command, where it has as many arguments as it takes. */
  readonly read: (args: Arguments) => Command | undefined;
}

const alone = (name: 'resume' | 'tasks' | 'locks' | 'who' | 'help', does: string): [string, Form] => [
  name,
  { usage: `!${name}`, does, read: (args) => (args.rest() === '' ? { name } : undefined) },
];

const FORMS: ReadonlyMap<string, Form> = new Map<string, Form>([
  [
    'vote',
    {
      usage: '!vote <choice> <proposal>',
      does: 'votes as your agent',
      read(args) {
        const [choice, proposal] = [args.next(), args.next()];
        return choice === undefined || proposal === undefined || args.rest() !== ''
          ? undefined
          : { name: 'vote', choice, proposal };
      },
    },
  ],
  [
    'resolve',
    {
      usage: '!resolve <phase> proceed|fail|extend [seconds]',
      does: 'ends or extends the wait at a barrier',
      read(args) {
        const [phase, action, seconds] = [args.next(), args.next(), args.next()];
        if (phase === undefined || action === undefined || args.rest() !== '') return undefined;
        if (seconds === undefined) return { name: 'resolve', phase, action };
        return action === 'extend' ? { name: 'resolve', phase, action, seconds: Number(seconds) } : undefined;
      },
    },
  ],
  [
    'release',
    {
      usage: '!release <lock_id> <reason>',
      does: 'takes a lock from its holder',
      read(args) {
        const [lock, reason] = [args.next(), args.rest()];
        return lock === undefined || reason === '' ? undefined : { name: 'release', lock, reason };
      },
    },
  ],
  [
    'cancel',
    {
      usage: '!cancel <task> [reason]',
      does: 'ends a task; whoever works on it must stop',
      read(args) {
        const [task, reason] = [args.next(), args.rest()];
        return task === undefined ? undefined : { name: 'cancel', task, ...(reason === '' ? {} : { reason }) };
      },
    },
  ],
  [
    'pause',
    {
      usage: '!pause [reason]',
      does: 'nothing new is begun in the room; what is under way goes on',
      read(args) {
        const reason = args.rest();
        return { name: 'pause', ...(reason === '' ? {} : { reason }) };
      },
    },
  ],
  alone('resume', 'ends the pause'),
  alone('tasks', 'what is to be done, and who does it'),
  alone('locks', 'what is locked, by whom, and who waits'),
  alone('who', 'who has joined the room'),
  alone('help', 'this list'),
]);

/** What all commands are, a line each. */
export const HELP = [
  ...[...FORMS.values()].map(({ usage, does }) => `${usage}: ${does}`),
  'A name with spaces is put in quotes. What does not begin with ! is posted to the room.',
].join('\n');

/**
 * Reads a message of a person: a command is one line whose very first character is `!`. Everything else is text, whatever
 * it holds. Pure; never throws.
 */
export function readMessage(message: string): ParsedMessage {
  if (!message.startsWith('!')) return { kind: 'text', text: message.trim() };
  const line = message.trim();
  const name = /^!\S*/.exec(line)?.[0] ?? '!';
  const form = FORMS.get(name.slice(1));
  if (!form)
    return {
      kind: 'unclear',
      answer: `there is no such command; !help lists them. To post something that begins with !, put a space before it.`,
    };
  if (LINE_END.test(line)) return { kind: 'unclear', answer: `a command is one line: ${form.usage}` };
  const command = form.read(new Arguments(line.slice(name.length)));
  return command ? { kind: 'command', command } : { kind: 'unclear', answer: `it is ${form.usage}` };
}

const LINE_END = /[\n\r\v\f\u0085\u2028\u2029]/;
/** One argument: a word, or what is in straight or typographic quotes. */
const ARGUMENT = /^\s*(?:"([^"]*)"|[“”„]([^“”]*)[“”]|([^\s"“”„]\S*))(?=\s|$)/;

/** The arguments of a line, one after the other, as names are compared (NFC). */
class Arguments {
  #left: string;

  constructor(line: string) {
    this.#left = line;
  }

  /** The next one; undefined at the end, or where a quote is not closed. */
  next(): string | undefined {
    const match = ARGUMENT.exec(this.#left);
    if (!match) return undefined;
    this.#left = this.#left.slice(match[0].length);
    return (match[1] ?? match[2] ?? match[3] ?? '').normalize('NFC');
  }

  /** All that is left, as it was written. */
  rest(): string {
    return this.#left.trim();
  }
}
