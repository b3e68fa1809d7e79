import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../ports/clock.ts';
import { installedChromiums } from './known-places.ts';
import { runProgram } from './run-program.ts';

/** One way to get a Chromium onto this machine. */
export interface WayToInstall {
  readonly name: string;
  readonly isPossible: () => boolean;
  /** Files that may be the new browser, or why there are none. */
  readonly install: (deps: WayDeps) => Promise<Installed>;
}

interface WayDeps {
  readonly cacheDir: string;
  readonly clock: Clock;
  readonly onLine: (line: string) => void;
}

type Installed = { readonly paths: readonly string[] } | { readonly why: string };

const MINUTE_MS = 60_000;

/**
 * Debian's package: security updates come with those of the system. An automatic update may hold the lock of dpkg. If
 * the package list could not be updated, the old one may still do.
 */
const APT: WayToInstall = {
  name: "Debian's package chromium-headless-shell",
  isPossible: () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get'),
  async install({ clock, onLine }) {
    const aptGet = (...args: string[]) =>
      runProgram('env', ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-o', 'DPkg::Lock::Timeout=300', ...args], {
        clock,
        onLine,
        deadlineMs: 10 * MINUTE_MS,
      });
    await aptGet('update');
    const end = await aptGet('install', '-y', '--no-install-recommends', 'chromium-headless-shell', 'fonts-liberation');
    return end.ok ? { paths: installedChromiums() } : end;
  },
};

const PLAYWRIGHT: WayToInstall = {
  name: "Playwright's headless shell",
  isPossible: () => true,
  async install({ clock, onLine }) {
    const installer = fileURLToPath(new URL('cli.js', import.meta.resolve('playwright-core/package.json')));
    const args = [installer, 'install', '--only-shell', 'chromium'];
    const end = await runProgram(process.execPath, args, { clock, onLine, deadlineMs: 10 * MINUTE_MS });
    return end.ok ? { paths: installedChromiums() } : end;
  },
};

/** The last versions that worked with our Playwright. */
const SPARTICUZ = '153.0.0';

/** Made for AWS Lambda: the browser and its libraries are inside the package, which the npm registry has. */
const NPM: WayToInstall = {
  name: `npm's package @sparticuz/chromium ${SPARTICUZ}`,
  isPossible: () => process.platform === 'linux' && process.arch === 'x64',
  async install({ cacheDir, clock, onLine }) {
    const place = join(cacheDir, `sparticuz-chromium-${SPARTICUZ}`);
    if (existsSync(place)) return { paths: [join(place, 'start')] };
    mkdirSync(cacheDir, { recursive: true });
    // Unpacked next to its place, then moved there by one rename, so that it is always complete.
    const draft = mkdtempSync(`${place}-`);
    try {
      const options = { clock, onLine, deadlineMs: 10 * MINUTE_MS };
      const wanted = `@sparticuz/chromium@${SPARTICUZ}`;
      const quiet = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
      const fetched = await runProgram('npm', ['install', '--prefix', draft, ...quiet, wanted], options);
      if (!fetched.ok) return fetched;
      const unpacked = await runProgram('env', unpackArgs(draft), options);
      if (!unpacked.ok) return unpacked;
      rmSync(join(draft, 'node_modules'), { recursive: true });
      writeFileSync(join(draft, 'start'), START, { mode: 0o755 });
      renameSync(draft, place);
      return { paths: [join(place, 'start')] };
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  },
};

/** It unpacks into the folder for temporary files, and its libraries only if it believes that it runs in Lambda. */
function unpackArgs(folder: string): readonly string[] {
  const module = join(folder, 'node_modules/@sparticuz/chromium/build/index.js');
  const script = `await (await import(${JSON.stringify(module)})).default.executablePath()`;
  const environment = ['AWS_LAMBDA_JS_RUNTIME=nodejs22.x', `TMPDIR=${folder}`];
  return [...environment, process.execPath, '--input-type=module', '--eval', script];
}

/** The libraries are used by this program only. `exec`: it has the id of the process that was started. */
const START = `#!/bin/sh
here=$(dirname "$0")
export LD_LIBRARY_PATH="$here/al2023/lib" FONTCONFIG_PATH="$here/fonts"
exec "$here/chromium" "$@"
`;

/** In the order in which they are tried. */
export const WAYS_TO_INSTALL: readonly WayToInstall[] = [APT, PLAYWRIGHT, NPM];
