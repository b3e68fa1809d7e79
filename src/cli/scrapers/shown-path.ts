import { isAbsolute, relative } from 'node:path';

/** A file as one would type it from here. */
export function shownPath(file: string): string {
  const near = relative(process.cwd(), file);
  return near === '' || near.startsWith('..') || isAbsolute(near) ? file : near;
}
