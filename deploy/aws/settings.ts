import { isIPv4 } from 'node:net';
import { LANES, type Lane } from '../../src/domain/lane.ts';

/**
 * What can be chosen when the stack is made, by `-c name=value` or in `cdk.json` under `context`. Parsed once, strictly:
 * a value that cannot be used is an error that names it, before anything is made of it.
 */
export interface Settings {
  readonly stackName: string;
  /** Level of the controllers' and the workers' logs. */
  readonly logLevel: string;
  /** `arm` costs a fifth less; the images must then be built on such a machine, or be emulated. */
  readonly architecture: 'x86' | 'arm';
  /** Whether the load balancer has an address in the internet; only with a certificate. */
  readonly isPublic: boolean;
  /** For HTTPS: the certificate that the load balancer shows. */
  readonly certificateArn: string | null;
  /** Networks besides the stack's own from which the API may be reached. */
  readonly allowFrom: readonly string[];
  /** The addresses of the stack's own network: must not be those of a network that is joined to it. */
  readonly vpcCidr: string;
  /** `nat`: tasks have private addresses and share an exit. `public`: each has its own, and there is no NAT to pay. */
  readonly exit: 'nat' | 'public';
  /** Whether workers are on Spot, at a third of the price, or on demand, where there is always room. */
  readonly isOnSpot: boolean;
  /** Most tasks of each lane. */
  readonly maxWorkers: Readonly<Record<Lane, number>>;
  /** Batches that one task carries out at the same time: when there are more, there will be more tasks. */
  readonly slots: Readonly<Record<Lane, number>>;
  /** After how many days results move to storage that is cheaper to keep and dearer to read. 0: never. */
  readonly coolAfterDays: number;
  /** After how many days results are deleted. 0: never, by us. */
  readonly expireAfterDays: number;
  readonly logDays: number;
  /** Receives alarms, in addition to the subscribers of the topic. */
  readonly alarmEmail: string | null;
  /** Variables of the proxies (PROXY_…), and the name of the secret in which each is kept. */
  readonly proxySecrets: Readonly<Record<string, string>>;
}

type Context = (name: string) => unknown;

export function readSettings(context: Context): Settings {
  const settings: Settings = {
    stackName: text(context, 'stackName', /^[A-Za-z][A-Za-z0-9-]{0,60}$/) ?? 'Trawl',
    logLevel: choice(context, 'logLevel', ['info', 'debug', 'warn', 'error']),
    architecture: choice(context, 'architecture', ['x86', 'arm']),
    isPublic: choice(context, 'public', ['false', 'true']) === 'true',
    certificateArn: text(context, 'certificateArn', /^arn:[\w-]+:acm:\S+$/),
    allowFrom: list(given(context, 'allowFrom') ?? '').map((each) => cidr('allowFrom', each, ALLOWED_SIZES)),
    vpcCidr: cidr('vpcCidr', given(context, 'vpcCidr') ?? '10.20.0.0/16', NETWORK_SIZES),
    exit: choice(context, 'exit', ['nat', 'public']),
    isOnSpot: choice(context, 'spot', ['true', 'false']) === 'true',
    maxWorkers: {
      http: count(context, 'maxHttpWorkers', 20, 1, MAX_WORKERS),
      browser: count(context, 'maxBrowserWorkers', 10, 1, MAX_WORKERS),
    },
    slots: { http: count(context, 'httpSlots', 16, 1), browser: count(context, 'browserSlots', 4, 1) },
    coolAfterDays: count(context, 'coolAfterDays', 30, 0),
    expireAfterDays: count(context, 'expireAfterDays', 0, 0),
    logDays: Number(choice(context, 'logDays', ['30', '1', '3', '7', '14', '60', '90', '180', '365'])),
    alarmEmail: text(context, 'alarmEmail', /^\S+@\S+$/),
    proxySecrets: proxies(given(context, 'proxySecrets') ?? ''),
  };
  // A key that crosses the internet in plain text is not a secret.
  if (settings.isPublic && settings.certificateArn === null) {
    throw new Error('public=true needs certificateArn: the API key would be readable on its way');
  }
  const { coolAfterDays, expireAfterDays } = settings;
  if (expireAfterDays > 0 && coolAfterDays > 0 && expireAfterDays < coolAfterDays + COOL_MIN_DAYS) {
    const days = `${COOL_MIN_DAYS} days`;
    throw new Error(`expireAfterDays: cooled results are paid for ${days}; leave them as long, or set coolAfterDays=0`);
  }
  return settings;
}

/** What Glacier Instant Retrieval bills for, however early an object is deleted. */
const COOL_MIN_DAYS = 90;

/** More would be more than the twenty steps that a policy may have: see `capacitySteps`. */
export const MAX_WORKERS = 1000;

/** A network of AWS has at most a /16; in one smaller than a /22, parts of a sixteenth have no room for all tasks. */
const NETWORK_SIZES = { largest: 16, smallest: 22 } as const;

/** Not everybody: for that there is public=true. The largest of the private networks is a /8. */
const ALLOWED_SIZES = { largest: 8, smallest: 32 } as const;

function given(context: Context, name: string): string | null {
  const value = context(name);
  return value === undefined || value === null || value === '' ? null : String(value);
}

function text(context: Context, name: string, pattern: RegExp): string | null {
  const value = given(context, name);
  if (value !== null && !pattern.test(value)) throw new Error(`${name}: ${value} is not like ${pattern}`);
  return value;
}

/** The first of them if nothing is said. */
function choice<const T extends string>(context: Context, name: string, choices: readonly [T, ...T[]]): T {
  const value = given(context, name) ?? choices[0];
  const known = choices.find((each) => each === value);
  if (known === undefined) throw new Error(`${name}: ${value} is none of ${choices.join(', ')}`);
  return known;
}

function count(context: Context, name: string, normal: number, min: number, max = Infinity): number {
  const value = Number(given(context, name) ?? normal);
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new Error(`${name}: must be a whole number from ${min} ${max === Infinity ? 'on' : `to ${max}`}`);
  }
  return value;
}

function list(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** Written as AWS keeps it, with nothing behind the part that counts: otherwise every deployment would find a change. */
function cidr(name: string, text: string, { largest, smallest }: { largest: number; smallest: number }): string {
  const [, address = '', bits = ''] = /^([\d.]+)\/(\d{1,2})$/.exec(text) ?? [];
  const size = Number(bits);
  if (!isIPv4(address) || size < largest || size > smallest) {
    throw new Error(`${name}: ${text} is not like 10.20.0.0/16, from /${largest} to /${smallest}`);
  }
  const number = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  if (number % 2 ** (32 - size) !== 0) throw new Error(`${name}: ${text} is an address in a network, not a network`);
  return text;
}

/** `PROXY_URL=trawl/proxy-url,PROXY_CUSTOMER=trawl/proxy-customer`. */
function proxies(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    list(text).map((entry): [string, string] => {
      const [, name, secret] = /^(PROXY_[A-Z_]+)=([\w/+=.@-]+)$/.exec(entry) ?? [];
      if (name === undefined || secret === undefined) {
        throw new Error(`proxySecrets: ${entry} is not like PROXY_URL=name-of-a-secret`);
      }
      return [name, secret];
    }),
  );
}

/** A value for each lane, made from its name. */
export function perLane<T>(make: (lane: Lane) => T): Readonly<Record<Lane, T>> {
  return Object.fromEntries(LANES.map((lane) => [lane, make(lane)])) as Record<Lane, T>;
}
