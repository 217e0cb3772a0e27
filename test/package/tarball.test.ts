import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packTarball, Project, temporaryFolder, type ModuleKind } from './project.ts';
import { userFiles } from './user.ts';

const WITH_OWN = ['re-exported', 'merged', 'twice', 'on the connection', 'bundled'];
const MINUTES = 60_000;

describe('the package as its users install it', { timeout: 15 * MINUTES }, () => {
  let folder: string;
  let tarball: string;

  beforeAll(async () => {
    folder = await temporaryFolder();
    tarball = await packTarball(folder);
  }, 15 * MINUTES);
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it.each<ModuleKind>(['module', 'commonjs'])(
    'compiles and runs beside a workflow of the user, in a project of type %s',
    async (kind) => {
      const project = await Project.create(join(folder, kind), kind, tarball, userFiles(kind));
      await project.compile();
      const done = { outcome: 'task.completed', result: 1 };
      expect(await project.run('main.js', ['ready', ...WITH_OWN])).toEqual({
        ready: { greeting: null, delegated: null, ...done },
        ...Object.fromEntries(
          WITH_OWN.map((how) => [how, { greeting: 'Hello, you', delegated: 'task.completed', ...done }]),
        ),
      });
    },
  );
});
