import type { Clock } from '../../ports/clock.ts';
import { installedChromiums, isHeadlessShell } from './known-places.ts';
import { type Chromium, proveChromium } from './prove-chromium.ts';
import { recallChromium, rememberChromium } from './remembered.ts';

export interface ChromiumDeps {
  /** The user's choice. Empty if there is none. */
  readonly chosenPath: string;
  /** Where the result is remembered, and where an installer may unpack a browser. */
  readonly cacheDir: string;
  readonly clock: Clock;
  /** Files that may be a Chromium; by default those of this machine. */
  readonly places?: () => readonly string[];
}

export type ChromiumSearch =
  | { readonly found: Chromium; readonly failed: readonly Failed[] }
  | { readonly found: null; readonly failed: readonly Failed[] };

/** A file that should have been a browser. */
export interface Failed {
  readonly path: string;
  readonly why: string;
}

/**
 * The Chromium of this machine: the one that the user chose, and no other; otherwise the one found last time; otherwise
 * the first installed one that works. Each is tested by starting it. It installs nothing.
 */
export async function findChromium({ chosenPath, cacheDir, clock, places }: ChromiumDeps): Promise<ChromiumSearch> {
  if (chosenPath !== '') return firstThatWorks([chosenPath], clock);
  const recalled = recallChromium(cacheDir);
  if (recalled !== null) return { found: recalled, failed: [] };
  const search = await firstThatWorks((places ?? installedChromiums)(), clock);
  if (search.found !== null) rememberChromium(cacheDir, search.found);
  return search;
}

/**
 * The same for one that has windows, which a headless shell does not, even if that would come first. It is not remembered:
 * everything without a window is quicker in the shell.
 */
export async function findWindowedChromium(deps: ChromiumDeps): Promise<ChromiumSearch> {
  const { chosenPath, cacheDir, clock, places } = deps;
  if (chosenPath !== '') return findChromium(deps);
  const recalled = recallChromium(cacheDir);
  if (recalled !== null && !isHeadlessShell(recalled.path)) return { found: recalled, failed: [] };
  return firstThatWorks(
    (places ?? installedChromiums)().filter((path) => !isHeadlessShell(path)),
    clock,
  );
}

export async function firstThatWorks(paths: readonly string[], clock: Clock): Promise<ChromiumSearch> {
  const failed: Failed[] = [];
  for (const path of paths) {
    const proof = await proveChromium(path, clock);
    if (proof.works) return { found: proof.chromium, failed };
    failed.push({ path, why: proof.why });
  }
  return { found: null, failed };
}

export function showFailed(failed: readonly Failed[]): string {
  return failed.map(({ path, why }) => `${path} does not work: ${why}`).join('; ');
}
