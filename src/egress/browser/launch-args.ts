import { createHash, X509Certificate } from 'node:crypto';

/**
 * Arguments for a local Chromium, so that its pages have no way out except the proxy of their context. `test/browser`
 * tries to get past them.
 * A context names its proxy when it is created. Everything the browser does outside our contexts goes to a proxy that
 * does not exist, and the browser never looks up a name: DNS prefetching would reveal to a stranger's DNS server what
 * we read.
 */
export const LAUNCH_ARGS: readonly string[] = [
  '--proxy-server=http://nowhere.invalid:9',
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-domain-reliability',
  '--dns-prefetch-disable',
  '--no-pings',
  // Without it, `navigator.webdriver` is true.
  '--disable-blink-features=AutomationControlled',
];

/** Proxies that decrypt sign with their own keys. These are trusted wherever they are in a chain. */
export function trustArgs(ca: string | null): readonly string[] {
  const certificates = ca?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0) return [];
  const hashes = certificates.map((pem) => {
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    return createHash('sha256').update(key).digest('base64');
  });
  return [`--ignore-certificate-errors-spki-list=${hashes.join(',')}`];
}
