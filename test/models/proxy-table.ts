import type { FailureType } from '../../src/domain/failure.ts';

/** One row for each code of Bright Data that is documented: what it is for us, and what a user reads. */
export interface ProxyRow {
  readonly status: number;
  readonly code: string;
  readonly type: FailureType;
  readonly says: RegExp;
}

const CREDENTIALS = /check customer, zone and password, then resume the job$/;
const RULES = /then resume the job$/;

export const PROXY_TABLE: readonly ProxyRow[] = [
  { status: 400, code: 'client_10060', type: 'proxy_config', says: /check PROXY_URL/ },
  { status: 401, code: 'client_10050', type: 'proxy_config', says: /check PROXY_URL/ },
  { status: 402, code: 'policy_20130', type: 'proxy_config', says: /POST is refused in this zone/ },
  { status: 403, code: 'policy_20140', type: 'proxy_config', says: /robots\.txt/ },
  {
    status: 403,
    code: 'policy_20051',
    type: 'proxy_config',
    says: /government sites are refused until the account is approved/,
  },
  { status: 403, code: 'policy_20050', type: 'proxy_config', says: RULES },
  { status: 403, code: 'policy_20001', type: 'proxy_config', says: RULES },
  { status: 403, code: 'policy_20030', type: 'proxy_config', says: RULES },
  { status: 402, code: 'policy_20040', type: 'proxy_config', says: RULES },
  { status: 407, code: 'client_10000', type: 'proxy_config', says: CREDENTIALS },
  { status: 407, code: 'client_10010', type: 'proxy_config', says: CREDENTIALS },
  { status: 407, code: 'client_10020', type: 'proxy_config', says: CREDENTIALS },
  { status: 408, code: 'peer_30040', type: 'proxy_error', says: /no working exit/ },
  { status: 502, code: 'peer_30040', type: 'proxy_error', says: /no working exit/ },
  { status: 502, code: 'peer_30001', type: 'proxy_error', says: /no working exit/ },
  { status: 502, code: 'client_10120', type: 'proxy_error', says: /no working exit/ },
  { status: 429, code: 'client_10110', type: 'rate_limited', says: /more requests than it allows/ },
  { status: 429, code: 'policy_20220', type: 'rate_limited', says: /more requests than it allows/ },
  { status: 502, code: 'target_40001', type: 'server_error', says: /cannot reach the target/ },
  { status: 502, code: 'target_40011', type: 'server_error', says: /cannot reach the target/ },
  { status: 502, code: 'target_40020', type: 'server_error', says: /cannot reach the target/ },
  { status: 502, code: 'peer_30030', type: 'proxy_config', says: /no exits in that place; change proxy\.geo_target/ },
  { status: 502, code: 'policy_20070', type: 'proxy_config', says: /check PROXY_URL/ },
  { status: 502, code: 'client_10100', type: 'proxy_config', says: /check PROXY_URL/ },
];
