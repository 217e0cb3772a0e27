import { Writable } from 'node:stream';
import type { FakeChat, FakePost, Fault } from './server.ts';

const THREAD = /^\[([^\]]+)\] /;

/** A terminal that shows what is written to it, and fails as a test asks. Nobody ever writes there but the bridge. */
export class FakeTerminal implements FakeChat {
  readonly me = 'console';
  readonly posts: FakePost[] = [];
  readonly faults: Fault[] = [];
  attempts = 0;
  readonly out = new Writable({
    decodeStrings: false,
    write: (chunk: string, _, done) => this.#write(chunk, done),
  });
  #questions = 0;

  constructor() {
    // As a process does that does not end with its pipe.
    this.out.on('error', () => undefined);
  }

  /** Somebody asks elsewhere: a terminal only prints where the answer belongs. */
  says(): string {
    return `question-${(this.#questions += 1)}`;
  }

  botSays(): string {
    return this.says();
  }

  revoke(): void {
    throw new Error('a terminal knows no tokens');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('a terminal is not reached by a network'));
  }

  up(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.out.destroy();
    return Promise.resolve();
  }

  #write(chunk: string, done: (error?: Error) => void): void {
    this.attempts += 1;
    const fault = this.faults.shift();
    const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    if (!fault || ('taken' in fault && fault.taken) || fault.kind === 'slow') this.#show(chunk);
    if (!fault) return done();
    if (fault.kind === 'slow') setTimeout(done, fault.ms);
    // Nobody reads the other end of a pipe: it takes nothing more, and says nothing.
    else if (fault.kind !== 'silence') done(broken);
  }

  #show(chunk: string): void {
    const thread = THREAD.exec(chunk)?.[1];
    this.posts.push({
      id: String(this.posts.length + 1),
      author: this.me,
      text: chunk.replace(THREAD, '').replace(/\n$/, ''),
      pings: 0,
      ...(thread === undefined ? {} : { thread }),
    });
  }
}
