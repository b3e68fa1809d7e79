import { formatIp, type IpAddress } from '../../src/egress/ip-address.ts';

/** Draws from [0, n). */
export type Dice = (n: number) => number;

/** The ways in which one address can be written into a URL, and URLs that try to make a reader see another host. */
export function writeUrl(ip: IpAddress, dice: Dice): string {
  const host = ip.family === 4 ? disguise(ipv4Text(ip.bytes, dice), dice) : `[${ipv6Text(ip.bytes, dice)}]`;
  const port = pick(['', '', ':80', ':0080', ':8443', ':'], dice);
  const around = pick(AROUND, dice);
  return spacesInside(around(host + port, pick(['http', 'https', 'HTTP', 'hTtPs'], dice)), dice);
}

/** IPv6 addresses in which an IPv4 address hides, the rest of them at random. */
export function hide(ipv4: IpAddress, dice: Dice): IpAddress {
  const inner = ipv4.bytes;
  const noise = (count: number) => Array.from({ length: count }, () => dice(256));
  const zeros = (count: number) => new Array<number>(count).fill(0);
  const networks = [[0x2a, 0x00, ...noise(6)], [0xfe, 0x80, ...zeros(6)], zeros(8)];
  const bytes = pick<() => number[]>(
    [
      () => [...zeros(10), 0xff, 0xff, ...inner],
      () => [...zeros(12), ...inner],
      () => [...zeros(8), 0xff, 0xff, 0, 0, ...inner],
      () => [0, 0x64, 0xff, 0x9b, ...zeros(8), ...inner],
      () => [0, 0x64, 0xff, 0x9b, 0, 1, ...noise(2), ...inner, ...noise(4)],
      () => [0x20, 0x02, ...inner, ...noise(10)],
      () => [0x20, 0x01, 0, 0, ...inner, ...noise(8)],
      () => [0x20, 0x01, 0, 0, ...noise(8), ...inner.map((value) => value ^ 0xff)],
      () => [...pick(networks, dice), pick([0, 2], dice), 0, 0x5e, 0xfe, ...inner],
    ],
    dice,
  )();
  return { family: 6, bytes };
}

function ipv4Text(bytes: readonly number[], dice: Dice): string {
  const parts = 1 + dice(4);
  const head = bytes.slice(0, parts - 1);
  const rest = bytes.slice(parts - 1).reduce((sum, value) => sum * 256 + value, 0);
  return [...head, rest].map((value) => numberText(value, dice)).join('.') + pick(['', '', '.'], dice);
}

function numberText(value: number, dice: Dice): string {
  const zeros = '0'.repeat(dice(4));
  return pick(
    [
      `${value}`,
      `0${zeros}${value.toString(8)}`,
      `0x${zeros}${value.toString(16)}`,
      `0X${value.toString(16).toUpperCase()}`,
    ],
    dice,
  );
}

/** What the URL parser takes back: escapes, and the letters, digits and full stops that Unicode says are the same. */
function disguise(host: string, dice: Dice): string {
  const way = dice(4);
  if (way === 0) return host;
  return [...host]
    .map((char) => {
      if (dice(2) === 0) return char;
      if (way === 1) return `%${char.charCodeAt(0).toString(16)}`;
      if (char === '.') return pick(['。', '．', '｡'], dice);
      if (way === 2) return String.fromCodePoint((char.codePointAt(0) ?? 0) + 0xfee0);
      // A soft hyphen and a word joiner are dropped.
      return char >= '0' && char <= '9'
        ? String.fromCodePoint(0x1d7ce + Number(char))
        : char + pick(['\u00ad', '\u2060'], dice);
    })
    .join('');
}

function ipv6Text(bytes: readonly number[], dice: Dice): string {
  if (dice(4) === 0) return formatIp({ family: 6, bytes });
  const words = Array.from({ length: 8 }, (_, at) => ((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0));
  const texts = words.map((word) => word.toString(16).padStart(dice(5), '0'));
  const tail = dice(2) === 0 ? [bytes.slice(12).join('.')] : texts.slice(6);
  const groups = [...texts.slice(0, 6), ...tail];
  const zeroAt = words.slice(0, 6).indexOf(0);
  if (zeroAt >= 0 && dice(2) === 0) {
    const run = words.slice(zeroAt, 6).findIndex((word) => word !== 0);
    const count = 1 + dice(run < 0 ? 6 - zeroAt : run);
    return mixCase(`${groups.slice(0, zeroAt).join(':')}::${groups.slice(zeroAt + count).join(':')}`, dice);
  }
  return mixCase(groups.join(':'), dice);
}

function mixCase(text: string, dice: Dice): string {
  return [...text].map((char) => (dice(2) === 0 ? char : char.toUpperCase())).join('');
}

const AROUND: readonly ((host: string, scheme: string) => string)[] = [
  (host, scheme) => `${scheme}://${host}/`,
  (host, scheme) => `${scheme}://${host}`,
  (host, scheme) => `${scheme}:${host}/path?query#fragment`,
  (host, scheme) => `${scheme}:/${host}/`,
  (host, scheme) => `${scheme}://///${host}//`,
  (host, scheme) => `${scheme}:\\\\${host}\\path`,
  (host, scheme) => `${scheme}://1.1.1.1@${host}/`,
  (host, scheme) => `${scheme}://example.com:80@${host}/`,
  (host, scheme) => `${scheme}://a@b@1.1.1.1@${host}/`,
  (host, scheme) => `${scheme}://example.com%2f@${host}/`,
  (host, scheme) => `${scheme}://${host}\\@1.1.1.1/`,
  (host, scheme) => `${scheme}://${host}#@1.1.1.1/`,
  (host, scheme) => `${scheme}://${host}?@example.com/`,
  (host, scheme) => `${scheme}://${host}/http://example.com/`,
  (host, scheme) => ` \u0000\u001f${scheme}://${host}/ \n`,
];

/** Tabs and line ends anywhere in a URL are ignored. */
function spacesInside(url: string, dice: Dice): string {
  if (dice(3) !== 0) return url;
  // Between two characters, not between the halves of one.
  const chars = [...url];
  chars.splice(1 + dice(chars.length - 1), 0, pick(['\t', '\n', '\r', '\r\n\t'], dice));
  return chars.join('');
}

function pick<T>(choices: readonly T[], dice: Dice): T {
  return choices[dice(choices.length)] as T;
}
