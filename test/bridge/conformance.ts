import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ChatAdapter, type ChatFault, type ChatPage } from '../../src/bridge/adapter.ts';
import type { FakeChat, FakeServer, Fault } from './fakes/server.ts';
import { faultOf, newKey } from './asked.ts';
import { newestPostConformance } from './newestPost.ts';
import { AMPLE_MS, TIMEOUT_MS, type Service } from './services.ts';

/** What not every service has. */
export type Part = 'refusals' | 'time-outs' | 'network' | 'reading back' | 'reading forward';

/** One adapter with the fake of its service. */
export interface AdapterSubject<Chat extends FakeChat> {
  readonly name: string;
  /** The fake, listening. */
  start(): Promise<Chat>;
  /** An adapter at that fake, all retries of its library off. */
  adapter(chat: Chat, timeoutMs: number): Promise<ChatAdapter>;
  /** A person's id, as the service writes them. */
  readonly person: string;
  /** The service itself takes a second post with the same key for the first one. */
  readonly dedupes: boolean;
  /** The service shows the keys of posts that were sent long ago. */
  readonly keepsKeys: boolean;
  /** A text that the service would take for markup, and mentions that would ping, as plain text. */
  readonly markup: readonly string[];
  /** What the service does not have, and why. */
  readonly without?: { readonly [part in Part]?: string };
}

/** What a subject is by its service. */
export function ofService<Chat extends FakeServer>(service: Service<Chat>) {
  const { name, person } = service;
  return {
    name,
    person,
    start: async () => await service.start(),
    adapter: async ({ url }: Chat, timeoutMs: number) => await service.at(url, timeoutMs),
  };
}

/** What every adapter must do, whatever its service: run over the fake of each. */
export function adapterConformance<Chat extends FakeChat>(subject: AdapterSubject<Chat>): void {
  const { without = {} } = subject;
  const lacks = (part: Part): boolean => without[part] !== undefined;
  /** Why a part is left out, where it is. */
  const why = (part: Part): string => (lacks(part) ? ` (${without[part]})` : '');

  describe(`the adapter ${subject.name}`, () => {
    let chat: Chat;
    let adapter: ChatAdapter;

    beforeEach(async () => {
      chat = await subject.start();
      adapter = await subject.adapter(chat, AMPLE_MS);
    });
    afterEach(() => chat.stop());

    if (!lacks('reading back')) newestPostConformance(subject, () => ({ chat, adapter }));

    const own = (): string[] => chat.posts.map(({ text }) => text);
    /** One that waits for no answer for long, where none comes; where one comes, however late, it is waited for. */
    const patient = async ({ kind }: Fault): Promise<ChatAdapter> =>
      kind === 'silence' ? await subject.adapter(chat, TIMEOUT_MS) : adapter;

    it('has a name, a target and a pace, and knows who the bot is', async () => {
      expect(adapter.name).toBe(subject.name);
      expect(adapter.target).not.toBe('');
      expect(adapter.pace.quiet).toBeGreaterThanOrEqual(Math.max(1, adapter.pace.busy));
      const me = await adapter.identity();
      await adapter.post(newKey(), 'hello');
      expect(chat.posts.at(-1)?.author).toBe(me);
    });

    it('posts a text as it is, and returns the id that the service gave it', async () => {
      const { id } = await adapter.post(newKey(), adapter.escape('hello, world\nsecond line'));
      expect(own()).toEqual(['hello, world\nsecond line']);
      expect(id).toBe(chat.posts[0]?.id);
    });

    it('shows markup and mentions as text, and pings nobody', async () => {
      for (const text of subject.markup) await adapter.post(newKey(), adapter.escape(text));
      expect(own()).toEqual(subject.markup);
      expect(chat.posts.map(({ pings }) => pings)).toEqual(subject.markup.map(() => 0));
    });

    it('posts into a thread', async () => {
      const question = chat.says(subject.person, 'who holds it?');
      await adapter.post(newKey(), 'nobody', { thread: question });
      expect(chat.posts.at(-1)).toMatchObject({ text: 'nobody', thread: question });
    });

    it('keeps to its limits: the longest post is taken, whatever it is made of', async () => {
      const { characters, bytes = Number.POSITIVE_INFINITY } = adapter.limits;
      for (const unit of ['x', '\n', '"', 'é', '日', '👩‍👩‍👧']) {
        const times = Math.floor(Math.min(characters / unit.length, bytes / Buffer.byteLength(unit)));
        const text = `|${unit.repeat(times - 2)}|`;
        if (adapter.escape(text) !== text) continue;
        await adapter.post(newKey(), text);
        expect(own().at(-1)).toBe(text);
      }
    });

    it('fails with `unacceptable` at a post that is too long', async () => {
      expect(await faultOf(adapter.post(newKey(), 'x'.repeat(200_000)))).toMatchObject({ fault: 'unacceptable' });
      expect(own()).toEqual([]);
    });

    it(`takes a second post with the same key ${subject.dedupes ? 'for the first one' : 'as the service does'}`, async () => {
      const key = newKey();
      const first = await adapter.post(key, 'once');
      const again = await adapter.post(key, 'once');
      expect(own()).toEqual(subject.dedupes ? ['once'] : ['once', 'once']);
      expect(again.id === first.id).toBe(subject.dedupes);
    });

    describe('when a call fails', () => {
      const cases: readonly [name: string, fault: Fault, expected: ChatFault, retryAfterMs?: number][] = [
        ['too many, with a hint', { kind: 'rate-limited', retryAfterMs: 2_000 }, 'rate-limited', 2_000],
        ['too many, without a hint', { kind: 'rate-limited' }, 'rate-limited'],
        ['an error of the service', { kind: 'error', status: 500, taken: false }, 'ambiguous'],
        ['an error after the post was taken', { kind: 'error', status: 502, taken: true }, 'ambiguous'],
        ['an unavailable service', { kind: 'error', status: 503, taken: false }, 'ambiguous'],
        ['silence', { kind: 'silence', taken: false }, 'ambiguous'],
        ['silence after the post was taken', { kind: 'silence', taken: true }, 'ambiguous'],
        ['a broken connection', { kind: 'drop', taken: false }, 'ambiguous'],
        ['a connection broken after the post was taken', { kind: 'drop', taken: true }, 'ambiguous'],
      ];
      const had = cases.filter(
        ([, { kind }]) =>
          !(kind === 'rate-limited' && lacks('refusals')) && !(kind === 'silence' && lacks('time-outs')),
      );
      it.each(had)('fails as it means, and repeats nothing: %s', async (_, fault, expected, retryAfterMs) => {
        chat.faults.push(fault);
        const error = await faultOf((await patient(fault)).post(newKey(), 'hello'));
        expect(error).toMatchObject({ fault: expected, retryAfterMs });
        expect(chat.attempts).toBe(1);
        expect(own()).toEqual('taken' in fault && fault.taken ? ['hello'] : []);
      });

      it('waits for a slow answer', async () => {
        chat.faults.push({ kind: 'slow', ms: 500 });
        await adapter.post(newKey(), 'hello');
        expect(own()).toEqual(['hello']);
        expect(chat.attempts).toBe(1);
      });

      it.skipIf(lacks('network'))(`knows that nothing was taken where no server listens${why('network')}`, async () => {
        await chat.down();
        expect(await faultOf(adapter.post(newKey(), 'hello'))).toMatchObject({ fault: 'unavailable' });
        await chat.up();
        await adapter.post(newKey(), 'hello');
        expect(own()).toEqual(['hello']);
      });

      it.skipIf(lacks('refusals'))(
        `is refused for good with a wrong token, and does not show it${why('refusals')}`,
        async () => {
          chat.revoke();
          const calls = [
            () => adapter.identity(),
            () => adapter.post(newKey(), 'hello'),
            () => adapter.readForward(undefined),
          ];
          for (const call of calls) {
            const error = await faultOf(call());
            expect(error).toMatchObject({ fault: 'refused' });
            expect(error.message).not.toContain('a-token');
          }
          expect(own()).toEqual([]);
        },
      );

      it('ends when its signal fires', async () => {
        chat.faults.push({ kind: 'silence', taken: false });
        const stop = new AbortController();
        const posting = adapter.post(newKey(), 'hello', { signal: stop.signal });
        await expect.poll(() => chat.attempts).toBe(1);
        stop.abort(new Error('stopped'));
        await expect(posting).rejects.toThrow('stopped');
      });
    });

    describe.skipIf(lacks('reading back'))(`reading back${why('reading back')}`, () => {
      it.each<Fault>([
        { kind: 'silence', taken: true },
        { kind: 'drop', taken: true },
        { kind: 'error', status: 502, taken: true },
      ])('finds what was taken although the call failed: $kind', async (fault) => {
        chat.faults.push(fault);
        const key = newKey();
        const posting = await patient(fault);
        await faultOf(posting.post(key, 'hello'));
        for (let i = 0; i < 5; i++) chat.says(subject.person, `meanwhile ${i}`);
        expect(await posting.readBack(key, { text: 'hello' })).toEqual({ id: chat.posts[0]?.id });
      });

      it('finds nothing of what was not taken, and never another post', async () => {
        await adapter.post(newKey(), 'another');
        chat.faults.push({ kind: 'drop', taken: false });
        const key = newKey();
        await faultOf(adapter.post(key, 'hello'));
        expect(await adapter.readBack(key, { text: 'hello' })).toMatch(/^(absent|unknown)$/);
      });

      it('distinguishes two posts of the same text', async () => {
        const { id: after } = await adapter.post(newKey(), 'hello');
        const key = newKey();
        chat.faults.push({ kind: 'drop', taken: true });
        await faultOf(adapter.post(key, 'hello'));
        chat.says(subject.person, 'hello');
        expect(await adapter.readBack(key, { text: 'hello', after })).toEqual({ id: chat.posts[1]?.id });
        chat.faults.push({ kind: 'drop', taken: false });
        const lost = newKey();
        await faultOf(adapter.post(lost, 'hello'));
        const last = chat.posts[1]?.id ?? '';
        expect(await adapter.readBack(lost, { text: 'hello', after: last })).toMatch(/^(absent|unknown)$/);
      });

      it('finds a post that another process has sent, and one in a thread', async () => {
        const question = chat.says(subject.person, 'who?');
        const { id: after } = await adapter.post(newKey(), 'before');
        const key = newKey();
        const inThread = newKey();
        chat.faults.push({ kind: 'drop', taken: true }, { kind: 'drop', taken: true });
        await faultOf(adapter.post(key, 'hello'));
        await faultOf(adapter.post(inThread, 'nobody', { thread: question }));
        const other = await subject.adapter(chat, AMPLE_MS);
        expect(await other.readBack(key, { text: 'hello', after })).toEqual({ id: chat.posts[2]?.id });
        const sent = { text: 'nobody', thread: question, after };
        expect(await other.readBack(inThread, sent)).toEqual({ id: chat.posts[3]?.id });
      });

      it('fails like any call', async () => {
        await chat.down();
        expect(await faultOf(adapter.readBack(newKey(), { text: 'hello' }))).toMatchObject({ fault: 'unavailable' });
        await chat.up();
      });
    });

    describe.skipIf(lacks('reading forward'))(`reading forward${why('reading forward')}`, () => {
      it('begins at the present', async () => {
        chat.says(subject.person, 'long ago');
        const { messages, cursor } = await adapter.readForward(undefined);
        expect(messages).toEqual([]);
        chat.says(subject.person, 'now');
        expect((await adapter.readForward(cursor)).messages.map(({ text }) => text)).toEqual(['now']);
      });

      it('finds what people write, in order, each once, and where', async () => {
        const start = (await adapter.readForward(undefined)).cursor;
        const first = chat.says(subject.person, 'one');
        chat.says(subject.person, 'two', first);
        const page = await adapter.readForward(start);
        chat.says(subject.person, 'three');
        const next = await adapter.readForward(page.cursor);
        expect(page.messages).toMatchObject([
          { id: first, author: subject.person, text: 'one' },
          { author: subject.person, text: 'two', thread: first },
        ]);
        expect(page.messages[0]).not.toHaveProperty('thread');
        expect(next.messages).toMatchObject([{ author: subject.person, text: 'three' }]);
      });

      it('never reads posts of bots, nor its own', async () => {
        const { cursor } = await adapter.readForward(undefined);
        await adapter.post(newKey(), 'by the bridge');
        chat.botSays('by another bot');
        chat.says(subject.person, 'by a person');
        expect((await adapter.readForward(cursor)).messages.map(({ text }) => text)).toEqual(['by a person']);
      });

      it('loses nothing of what was written while nobody read', async () => {
        const { cursor } = await adapter.readForward(undefined);
        const said = Array.from({ length: 230 }, (_, i) => `line ${i}`);
        for (const text of said) chat.says(subject.person, text);
        expect((await allFrom(adapter, cursor)).map(({ text }) => text)).toEqual(said);
      });
    });
  });
}

/** All pages from a cursor on, until one is empty. */
async function allFrom(adapter: ChatAdapter, from: string): Promise<ChatPage['messages']> {
  const found: ChatPage['messages'][number][] = [];
  for (let cursor = from; ;) {
    const page = await adapter.readForward(cursor);
    if (page.messages.length === 0) return found;
    found.push(...page.messages);
    cursor = page.cursor;
  }
}
