import { isSecretName, type Secrets, secretVariable } from '../domain/secrets.ts';
import { fail } from './scrape-failure.ts';

/**
 * The secret with this name, for a scraper. Without it no item of the job can succeed. In the closed list of failures
 * it is `proxy_config`: the one about credentials, which is the configuration's fault and stops the job.
 */
export function findSecret(secrets: Secrets, name: string): string {
  if (!isSecretName(name)) {
    const rule = 'a name is lower-case letters, digits and underscores, such as county_key';
    return fail('proxy_config', `"${String(name).slice(0, 64)}" cannot be the name of a secret: ${rule}`);
  }
  const value = secrets.find(name);
  if (value !== null) return value;
  const advice = `set ${secretVariable(name)}, or add ${name} to the file that TRAWL_SECRETS_FILE names`;
  return fail('proxy_config', `the secret ${name} is not set: ${advice}, and restart the workers`);
}
