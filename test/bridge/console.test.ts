import { consoleAdapter } from '../../src/bridge/adapters/console.ts';
import { adapterConformance } from './conformance.ts';
import { FakeTerminal } from './fakes/terminal.ts';

adapterConformance({
  name: 'console',
  start: () => Promise.resolve(new FakeTerminal()),
  adapter: (terminal) => Promise.resolve(consoleAdapter({ out: terminal.out })),
  person: 'ann',
  dedupes: false,
  keepsKeys: false,
  markup: ['**bold** <b>&amp;</b>', '@everyone <!channel>', '```js\nlet a = 1;\n```'],
  without: {
    refusals: 'a terminal takes what it is given, and knows neither tokens nor limits',
    'time-outs': 'a pipe that nobody reads loses nothing: it is waited for',
    network: 'a terminal is there, or the bridge is not',
    'reading back': 'what a terminal has shown cannot be asked for',
    'reading forward': 'nobody writes to a bridge by its output',
  },
});
