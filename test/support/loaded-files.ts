import { posix } from 'node:path';
import { importsOf } from './import-rules.ts';
import type { ParsedFile } from './syntax.ts';

/**
 * The files that a process or thread which starts with `entry` may load, sorted: by imports at the top of a file and by
 * those that wait until they are needed. Types are not loaded, and other processes and threads load for themselves.
 */
export function filesLoadedFrom(files: readonly ParsedFile[], entry: string): readonly string[] {
  const known = new Map(files.map((file) => [file.path, file]));
  const loaded = new Set<string>();
  const visit = (path: string): void => {
    const file = known.get(path);
    if (file === undefined || loaded.has(path)) return;
    loaded.add(path);
    for (const { specifier, isLoaded, isErased } of importsOf(file)) {
      if (isLoaded && !isErased && specifier?.startsWith('.')) visit(posix.join(posix.dirname(path), specifier));
    }
  };
  visit(entry);
  return [...loaded].sort();
}
