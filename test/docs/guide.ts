import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { command as carryOut } from '../cli/trawl.ts';

/**
 * Pages whose examples are run. Two kinds of blocks count, in the order of the page:
 *
 *   ```sh terminal   one command that goes on running, in a terminal of its own, until the page is done
 *   ```console       commands after `$ `, continued after `> `, each followed by what it writes
 *
 * What a command writes is compared without its white space, so that a page can break lines where it likes; `…`
 * matches anything. A server is started on any free port, which is put in place of the port that the page shows.
 */
export type Block =
  | { readonly kind: 'terminal'; readonly section: string; readonly command: string }
  | { readonly kind: 'console'; readonly section: string; readonly steps: readonly Step[] };

export interface Step {
  readonly command: string;
  readonly expected: string;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export function blocksOf(page: string): readonly Block[] {
  let section = '';
  const blocks: Block[] = [];
  for (const [, heading, kind, text = ''] of page.matchAll(/^## (.+)$|^```(sh terminal|console)\n([\s\S]*?)^```$/gm)) {
    if (heading !== undefined) section = heading;
    else if (kind === 'console') blocks.push({ kind, section, steps: stepsOf(text) });
    else blocks.push({ kind: 'terminal', section, command: text.trim() });
  }
  return blocks;
}

function stepsOf(text: string): readonly Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [first = '', ...lines] = step.split('\n');
      const more = lines.findIndex((line) => !line.startsWith('> '));
      return {
        command: [first, ...lines.slice(0, more).map((line) => line.slice(2))].join('\n'),
        expected: lines.slice(more).join('\n'),
      };
    });
}

/** Whether `written` is what the page shows. */
export function isShown(expected: string, written: string): boolean {
  const pieces = withoutSpace(expected).split('…');
  const text = withoutSpace(written);
  const last = pieces.pop() ?? '';
  if (pieces.length === 0) return text === last;
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    const found = index === 0 && !text.startsWith(piece) ? -1 : text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '');
}

interface GuideOptions {
  /** Added to the environment of the commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** Keyed by their names in the folder. */
  readonly files?: Readonly<Record<string, string>>;
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder that looks like the project to the commands of a page, and in which they leave what they make. */
export function openGuide({ env: more = {}, files = {} }: GuideOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-guide-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  for (const name of ['bin', 'demo']) symlinkSync(join(ROOT, name), join(folder, name));
  const started: (number | undefined)[] = [];
  after(() => {
    for (const pid of started) endGroup(pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const ports = new Map<string, string>();
  const env = {
    ...process.env,
    PATH: [join(ROOT, 'node_modules', '.bin'), join(ROOT, 'bin'), process.env['PATH']].join(':'),
    TRAWL_WORKERS: '1',
    // This is longer than a busy machine keeps a worker waiting.
    TRAWL_LEASE_MS: '30000',
    NO_PROXY: '*',
    ...more,
  };
  const withPorts = (command: string) =>
    command.replaceAll(/(?<=:)\d{4}\b/g, (port) => ports.get(port) ?? `no server was started on ${port}`);
  return {
    /** Resolves when it says where it listens. */
    async start(command: string): Promise<void> {
      const port = /--port (\d+)/.exec(command)?.[1];
      if (port === undefined) throw new Error(`no --port in: ${command}`);
      const free = withPorts(command).replace(`--port ${port}`, '--port 0');
      const child = spawn('bash', ['-c', free], {
        cwd: folder,
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      started.push(child.pid);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      // It keeps reading, or the process that writes would block at some point.
      createInterface(child.stdout)
        .on('line', (line) => {
          const own = /"url":"http:\/\/[\d.]+:(\d+)"/.exec(line)?.[1];
          if (own !== undefined) resolve(own);
        })
        .on('close', () => reject(new Error(`it ended: ${free}`)));
      ports.set(port, await promise);
    },
    /** Plain commands of `trawl` share a process (`test/cli/trawl.ts`); everything else is for a shell. */
    run(command: string, added: Readonly<Record<string, string>> = {}): Promise<Ran> {
      const own = withPorts(command);
      const [program = '', ...args] = wordsOf(own) ?? [];
      if (/^(?:bin\/)?trawl$/.test(program)) return carryOut(args, { ...env, ...added }, folder);
      return new Promise((resolve) => {
        execFile(
          'bash',
          ['-c', own],
          { cwd: folder, env: { ...env, ...added }, timeout: 300_000 },
          (error, stdout, stderr) => resolve({ code: error === null ? 0 : 1, stdout, stderr }),
        );
      });
    },
    /** An address as the page writes it, mapped to the server that was started for it. */
    address: (port: string) => withPorts(`http://127.0.0.1:${port}`),
  };
}

const WORD = /(?:'[^']*'|"[^"$`\\]*"|[\w./:=,@%+-])+/g;
const PLAIN = new RegExp(`^${WORD.source}(?: +${WORD.source})*$`);

/** The words of a command that needs nothing else from a shell; null for any other. */
function wordsOf(command: string): readonly string[] | null {
  if (!PLAIN.test(command)) return null;
  return (command.match(WORD) ?? []).map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
