import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/**
 * Runs a script in a network of its own, where any address can be used and nothing of this machine can be reached.
 * Needs root, or a kernel that lets users have namespaces. Rejects with what is missing.
 */
export async function runInNamespace(script: URL): Promise<string> {
  const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const child = spawn('unshare', [...asUser, '--net', '--', process.execPath, fileURLToPath(script)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 300_000,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<number | string | null>((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new Error('the command unshare (package util-linux) is needed to make a network namespace', { cause }));
    });
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  const [code, out, errors] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code === 0) return out;
  const hint = /unshare: /.test(errors)
    ? 'a network namespace could not be made: run as root, or let users make them (user.max_user_namespaces, AppArmor)'
    : 'the script in the network namespace failed';
  throw new Error(`${hint}. It ended with ${code}:\n${errors}`);
}

/**
 * Brings up the loopback interface of the namespace and gives it these IPv4 addresses too. Uses Python, because Node
 * has no ioctl, and not every machine has the command `ip`.
 */
export function haveAddresses(addresses: readonly string[]): void {
  const { status, stderr, error } = spawnSync('python3', ['-c', CONFIGURE, ...addresses], { encoding: 'utf8' });
  if (error !== undefined) throw new Error('python3 is needed to set up the network namespace', { cause: error });
  if (status !== 0) throw new Error(`the network namespace could not be set up:\n${stderr}`);
}

const CONFIGURE = `
import fcntl, socket, struct, sys

SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
UP_AND_RUNNING = 0x41

control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

def request(code, name, value):
    fcntl.ioctl(control, code, struct.pack('16s24s', name.encode(), value))

def ipv4(text):
    return struct.pack('HH4s', socket.AF_INET, 0, socket.inet_aton(text))

request(SIOCSIFFLAGS, 'lo', struct.pack('h', UP_AND_RUNNING))
for number, address in enumerate(sys.argv[1:]):
    alias = f'lo:{number}'
    request(SIOCSIFADDR, alias, ipv4(address))
    request(SIOCSIFNETMASK, alias, ipv4('255.255.255.255'))
`;
