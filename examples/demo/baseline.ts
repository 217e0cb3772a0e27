/**
 * One agent of the first act, the baseline, as a process of its own. It does what agents do that share a folder and a chat: it
 * reads whether another has written that it does a task, waits for a moment, writes that it does it, and does it. Nothing
 * decides between two that read at the same time. Source: the yielding check of "Discord Break Rooms for AI Agents".
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { textFiles, type InputFile } from './files.ts';
import { append, pieces } from './report.ts';
import { study } from './study.ts';
import { ParentChannel, stopSignal } from './parentChannel.ts';

/** How long an agent takes before it writes to the chat, in milliseconds: a language model takes longer. */
const THINKING_MS = 150;
/** It looks at so many tasks from the top of the list, so that agents do not all want the same. */
const CHOICES = 6;

const [id = 'agent', root = '.', chat = '', report = '', bill = ''] = process.argv.slice(2);
const channel = new ParentChannel();
const stop = stopSignal();
const files = await textFiles(root);

for (;;) {
  const task = choose();
  if (!task || stop.aborted) break;
  await setTimeout(Math.random() * THINKING_MS);
  append(chat, `${id} does ${task.label}\n`);
  await channel.ask({ ask: `begin ${task.label}`, kind: 'begin', taskId: task.taskId, token: 0 });
  const found = await study(task.path, files);
  append(bill, `${id} ${task.taskId}\n`);
  for (const piece of pieces(task.label, id, found)) {
    append(report, piece);
    await setTimeout(0);
  }
}
process.disconnect?.();

/** A task that nobody has announced in the chat. */
function choose(): InputFile | undefined {
  const said = new Set(
    (existsSync(chat) ? readFileSync(chat, 'utf8') : '')
      .split('\n')
      .map((line) => line.slice(line.indexOf(' does ') + 6)),
  );
  const open = files.filter(({ label }) => !said.has(label)).slice(0, CHOICES);
  return open[Math.floor(Math.random() * open.length)];
}
