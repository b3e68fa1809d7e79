import { answersFor, openTraveller, type Report, startCanary, startSite, tryAllWays } from './canary.ts';
import { startDns } from './dns-server.ts';
import { haveAddresses } from './network-namespace.ts';

/** What a canary saw, and what the visitors got as answers. */
export interface Sighting {
  readonly canary: string;
  readonly connections: number;
  readonly report: Report;
}

/** Findings under the rules as they are, and with the canaries' own addresses allowed. */
export interface Findings {
  readonly guarded: readonly Sighting[];
  readonly allowed: readonly Sighting[];
}

// In a namespace of its own, a site may have a public address, and a canary that of a metadata service.
const SITE = '93.184.216.34';
const CANARIES = ['169.254.169.254', '127.0.0.1', '::1'];

async function look(allowed: string): Promise<Sighting[]> {
  await using site = await startSite(SITE, 80);
  await using dns = await startDns('127.0.0.1', 53);
  const sightings: Sighting[] = [];
  for (const address of CANARIES) {
    await using canary = await startCanary(address, 80);
    await using traveller = openTraveller(allowed, { dnsServers: [dns.address] });
    dns.answerWith((name, asked) => answersFor(name, asked, site.address, canary.address));
    const report = await tryAllWays(traveller, site, canary);
    sightings.push({ canary: address, connections: canary.connections(), report });
  }
  return sightings;
}

if (import.meta.main) {
  haveAddresses([SITE, '169.254.169.254']);
  const findings: Findings = { guarded: await look(''), allowed: await look(CANARIES.join(',')) };
  process.stdout.write(JSON.stringify(findings));
}
