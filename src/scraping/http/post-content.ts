import { formCharset } from './form-charset.ts';

/** What a POST carries: one of form, json and body. */
export interface PostOptions {
  readonly form?: Readonly<Record<string, string | readonly string[]>> | URLSearchParams;
  /** Charset of `form`, if the site does not accept UTF-8: `windows-1252`. */
  readonly charset?: string;
  readonly json?: unknown;
  readonly body?: Uint8Array | string;
  /** Content type of `body`. */
  readonly contentType?: string;
}

export async function contentOf({
  form,
  charset = 'utf-8',
  json,
  body,
  contentType,
}: PostOptions): Promise<{ contentType: string; body: Uint8Array }> {
  const given = [form, json, body].filter((each) => each !== undefined).length;
  if (given > 1) throw new Error('a POST carries one of form, json and body');
  if (json !== undefined)
    return { contentType: contentType ?? 'application/json', body: Buffer.from(JSON.stringify(json)) };
  if (body !== undefined) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    return {
      contentType: contentType ?? (typeof body === 'string' ? 'text/plain;charset=UTF-8' : 'application/octet-stream'),
      body: bytes,
    };
  }
  const fields = form instanceof URLSearchParams ? form : searchParams(form ?? {});
  const text = (await formCharset(charset)).urlEncode([...fields]);
  return { contentType: contentType ?? 'application/x-www-form-urlencoded', body: Buffer.from(text) };
}

function searchParams(form: Readonly<Record<string, string | readonly string[]>>): URLSearchParams {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) {
    for (const each of typeof value === 'string' ? [value] : value) fields.append(name, each);
  }
  return fields;
}
