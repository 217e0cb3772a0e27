import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { chatOf, withChatOptions, type ChatOptions } from './chats.ts';

const env = { SYNOD_DISCORD_TOKEN: 't', SYNOD_SLACK_TOKEN: 't', SYNOD_AGENTPUB_TOKEN: 't', SYNOD_MATRIX_TOKEN: 't' };

function parsed(...args: string[]): ChatOptions {
  const command = withChatOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parse(args, { from: 'user' }).opts<ChatOptions>();
}

describe('the chat that the options of a bridge name', () => {
  it.each([
    ['discord', '112233445566778899', ['--discord-channel', '112233445566778899']],
    ['slack', 'C0123456789', ['--slack-channel', 'C0123456789']],
    [
      'agentpub',
      'room_9f2',
      ['--agentpub-room', 'room_9f2', '--agentpub-agent', 'a', '--agentpub-people', 'ann', 'bo'],
    ],
    ['matrix', '!a:b', ['--matrix-url', 'https://b.example', '--matrix-room', '!a:b']],
  ])('is one of %s', async (name, target, args) => {
    expect(await chatOf(parsed(...args), env)).toMatchObject({ name, target });
  });

  it.each([
    ['no chat is named', []],
    ['several chats are named', ['--console', '--slack-channel', 'C0123456789']],
    ['channel must be the id of a Slack channel: #general', ['--slack-channel', '#general']],
    ['--agentpub-room and --agentpub-agent go together', ['--agentpub-people', 'ann']],
    ['--matrix-url and --matrix-room go together', ['--matrix-room', '!a:b']],
    [
      'room must be the id of a Matrix room (!…): #general:b',
      ['--matrix-url', 'https://b.example', '--matrix-room', '#general:b'],
    ],
    ['must be a URL', ['--agentpub-url', 'ftp://a']],
  ])('is asked for in words: %s', async (message, args) => {
    await expect(async () => await chatOf(parsed(...args), env)).rejects.toThrow(message);
  });

  it.each([
    ['SYNOD_DISCORD_TOKEN', ['--discord-channel', '112233445566778899']],
    ['SYNOD_SLACK_TOKEN', ['--slack-channel', 'C0123456789']],
    ['SYNOD_AGENTPUB_TOKEN', ['--agentpub-room', 'r', '--agentpub-agent', 'a']],
    ['SYNOD_MATRIX_TOKEN', ['--matrix-url', 'https://b.example', '--matrix-room', '!a:b']],
  ])('takes its token from %s alone', async (variable, args) => {
    await expect(chatOf(parsed(...args), {})).rejects.toThrow(`${variable} must hold`);
  });
});
