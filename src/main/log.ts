import { type Logger, pino } from 'pino';
import { type Config, loadSecrets } from '../config.ts';

/** None of our code logs these; the redaction is a safeguard. */
const SECRET_FIELDS = [
  ...['authorization', '["x-api-key"]', 'cookie', '["proxy-authorization"]'].flatMap((name) => {
    const field = name.startsWith('[') ? `headers${name}` : `headers.${name}`;
    return [field, `*.${field}`];
  }),
  ...['apiKey', 'readApiKey', 'password', 'proxyUrl'].flatMap((name) => [name, `*.${name}`]),
];

/** Every line is masked, wherever it comes from. */
export function openLog(config: Pick<Config, 'logTo' | 'logLevel'> & Parameters<typeof loadSecrets>[0]): Logger {
  const secrets = loadSecrets(config);
  const destination = pino.destination(config.logTo === 'stderr' ? 2 : 1);
  return pino(
    {
      level: config.logLevel,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: SECRET_FIELDS,
      hooks: { streamWrite: (line) => secrets.mask(line) },
    },
    destination,
  );
}
