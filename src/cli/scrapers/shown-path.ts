import { isAbsolute, relative } from 'node:path';

/** A file as a user would type it in the current folder. */
export function shownPath(file: string): string {
  const near = relative(process.cwd(), file);
  return near === '' || near.startsWith('..') || isAbsolute(near) ? file : near;
}
