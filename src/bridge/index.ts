/** The chat bridge: a room, mirrored to a chat that people have open. */
export {
  ChatError,
  type ChatAdapter,
  type ChatFault,
  type ChatLimits,
  type ChatMessage,
  type ChatPace,
  type ChatPage,
  type Found,
  type PostOptions,
  type SentPost,
} from './adapter.ts';
export { agentpubAdapter, type AgentpubOptions } from './adapters/agentpub.ts';
export { consoleAdapter, type ConsoleOptions } from './adapters/console.ts';
export { discordAdapter, type DiscordOptions } from './adapters/discord.ts';
export { matrixAdapter, type MatrixOptions } from './adapters/matrix.ts';
export { slackAdapter, type SlackOptions } from './adapters/slack.ts';
export { runBridge } from './bridge.ts';
export type { BridgeOptions, LostLedger } from './options.ts';
export { People, type Act, type Person } from './people/list.ts';
export { consoleLine, type ConsoleFormat } from './console.ts';
