import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent.ts';
import { standInHub } from '../hub.fixture.ts';
import { HUB_PATHS } from '../transport/hubTransport.ts';
import type { Question } from './vote.ts';

const viewed = z.object({ workflow_id: z.string() });
const proposal = {
  status: 'open',
  proposal_id: 'p',
  question: 'Go on?',
  options: ['yes', 'no'],
  voters: ['ann'],
  quorum: 1,
  proposer: 'bo',
  votes: {},
};
const board = { rows: [{ id: 'p', kind: 'proposal', status: 'open', since: '' }], board_truncated: false };

it('asks again about a proposal that could not be looked at', async () => {
  let stream: ServerResponse | undefined;
  let looks = 0;
  const standIn = await standInHub((path, call, response) => {
    if (path === HUB_PATHS.stream) {
      stream = response;
      return void response.write('id: 0\nevent: ready\ndata: {"next":0}\n\n');
    }
    if (path !== HUB_PATHS.view)
      return response.end(JSON.stringify({ events: [], next: 0, truncated: false, now: new Date(0).toISOString() }));
    const ofProposal = viewed.parse(call).workflow_id === 'synod:lab:proposal:p';
    if (ofProposal) looks += 1;
    if (ofProposal && looks === 1) response.statusCode = 403;
    response.end(
      JSON.stringify(
        response.statusCode === 403
          ? { error: { code: 'unauthorized', message: 'not now' } }
          : { view: ofProposal ? proposal : board },
      ),
    );
  });
  try {
    const failed = new Promise((resolve) => process.once('warning', resolve));
    const asked = new Promise<Question>((resolve) => {
      new Agent(standIn.client, 'ann').room('lab').onProposal((question) => {
        resolve(question);
        return undefined;
      });
    });
    await failed;
    stream?.write('id: 1\nevent: gap\ndata: {"next":1}\n\n');
    expect((await asked).proposalId).toBe('p');
    expect(looks).toBe(2);
  } finally {
    await standIn.stop();
  }
});
