import { errorMessage } from '../../domain/error-message.ts';
import { BrowserUnavailable } from '../../ports/browser-provider.ts';
import { type ChromiumDeps, type Failed, findChromium, firstThatWorks, showFailed } from './find-chromium.ts';
import { takeInstallLock } from './install-lock.ts';
import { type Chromium, proveChromium } from './prove-chromium.ts';
import { forgetChromium, recallChromium, rememberChromium } from './remembered.ts';
import { WAYS_TO_INSTALL, type WayToInstall } from './ways-to-install.ts';

export interface InstallDeps extends ChromiumDeps {
  /** One line for the user: what is tried, and the result. */
  readonly onProgress: (line: string) => void;
  readonly ways?: readonly WayToInstall[];
}

/** An installation takes half a minute; over a slow connection several. */
const WAIT_FOR_OTHERS_MS = 20 * 60_000;

/**
 * The Chromium of this machine, installed if there is none. It asks nothing, reports what it does, and always ends.
 * Concurrent processes wait for the first one. Rejects with BrowserUnavailable if everything failed, or if the user's
 * own choice does not work: another one would be a surprise.
 */
export async function ensureChromium(deps: InstallDeps): Promise<Chromium> {
  const { chosenPath, cacheDir, clock, onProgress } = deps;
  await forgetIfBroken(deps);
  const atOnce = await findChromium(deps);
  if (atOnce.found !== null) return atOnce.found;
  if (chosenPath !== '') throw new BrowserUnavailable('misconfigured', `TRAWL_CHROMIUM: ${showFailed(atOnce.failed)}`);
  const release = await takeInstallLock(cacheDir, {
    ...{ clock, waitMs: WAIT_FOR_OTHERS_MS },
    onWait: () => onProgress('another process is installing Chromium; waiting for it'),
  });
  if (release === null)
    throw new BrowserUnavailable('failed', 'another process has been installing Chromium for too long');
  try {
    const meanwhile = await findChromium(deps);
    return meanwhile.found ?? (await install(deps, meanwhile.failed));
  } finally {
    await release();
  }
}

/** A system update may have removed a library from a browser that was found before. */
async function forgetIfBroken({ cacheDir, clock }: InstallDeps): Promise<void> {
  const recalled = recallChromium(cacheDir);
  if (recalled !== null && !(await proveChromium(recalled.path, clock)).works) forgetChromium(cacheDir);
}

async function install(
  { cacheDir, clock, onProgress, ways }: InstallDeps,
  failed: readonly Failed[],
): Promise<Chromium> {
  for (const each of failed) onProgress(showFailed([each]));
  const reasons: string[] = [];
  for (const way of (ways ?? WAYS_TO_INSTALL).filter(({ isPossible }) => isPossible())) {
    onProgress(`installing ${way.name}`);
    const startedAt = clock.elapsed();
    const installed = await way
      .install({ cacheDir, clock, onLine: (line) => onProgress(`  ${line}`) })
      // A folder that may not be written to, for instance.
      .catch((error: unknown) => ({ why: errorMessage(error) }));
    const search = 'why' in installed ? null : await firstThatWorks(installed.paths, clock);
    if (search?.found) {
      rememberChromium(cacheDir, search.found);
      onProgress(`installed Chromium ${search.found.version} in ${Math.round((clock.elapsed() - startedAt) / 1000)} s`);
      return search.found;
    }
    const why = 'why' in installed ? installed.why : showFailed(search?.failed ?? []) || 'it left no browser behind';
    reasons.push(`${way.name}: ${why}`);
    onProgress(`${way.name} failed: ${why}`);
  }
  throw new BrowserUnavailable(
    'misconfigured',
    `no Chromium could be installed; install one and set TRAWL_CHROMIUM to its path. Tried: ${reasons.join('; ')}`,
  );
}
