/**
 * One agent of the first act, as a process of its own. It does what agents do that share a folder and a chat: it looks whether
 * somebody has said that they do a task, thinks for a moment, says that it does it, and does it. Nothing decides between two
 * who looked at the same time. Source: the yielding check of "Discord Break Rooms for AI Agents".
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { textFiles, type InputFile } from './files.ts';
import { append, pieces } from './report.ts';
import { study } from './study.ts';
import { Talk, untilDismissed } from './talk.ts';

/** How long an agent thinks before it speaks, in milliseconds: a language model takes longer. */
const THINKING_MS = 150;
/** It looks at so many tasks from the top of the list, so that agents do not all want the same. */
const CHOICES = 6;

const [id = 'agent', root = '.', chat = '', report = '', bill = ''] = process.argv.slice(2);
const talk = new Talk();
const stop = untilDismissed();
const files = await textFiles(root);

for (;;) {
  const task = choose();
  if (!task || stop.aborted) break;
  await setTimeout(Math.random() * THINKING_MS);
  append(chat, `${id} does ${task.label}\n`);
  await talk.ask({ ask: `begin ${task.label}`, kind: 'begin', taskId: task.taskId, token: 0 });
  const found = await study(task.path, files);
  append(bill, `${id} ${task.taskId}\n`);
  for (const piece of pieces(task.label, id, found)) {
    append(report, piece);
    await setTimeout(0);
  }
}
process.disconnect?.();

/** A task that nobody has said to do. */
function choose(): InputFile | undefined {
  const said = new Set(
    (existsSync(chat) ? readFileSync(chat, 'utf8') : '')
      .split('\n')
      .map((line) => line.slice(line.indexOf(' does ') + 6)),
  );
  const open = files.filter(({ label }) => !said.has(label)).slice(0, CHOICES);
  return open[Math.floor(Math.random() * open.length)];
}
