import { readdirSync, readFileSync } from 'node:fs';

/** The TypeScript files under some folders of the project, by path; without tests and their fixtures. */
export function sources(...folders: string[]): { readonly path: string; readonly text: string }[] {
  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => `${parentPath}/${name}`),
    )
    .filter((path) => path.endsWith('.ts') && !/\.(?:test|fixture)\.ts$/.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}
