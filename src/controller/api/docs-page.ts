import type { OpenApiDocument } from './openapi.ts';

/** The API documentation: one page made from the OpenAPI document, without scripts or external resources. */
export function docsPage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ path, method, ...(each as DescribedOperation) })),
  );
  const sections = document.tags.map(({ name, description }) => {
    const own = operations.filter(({ tags }) => tags.includes(name));
    return `<section><h2 id="${name}">${text(name)}</h2><p>${text(description)}</p>${own.map(operationHtml).join('')}</section>`;
  });
  const schemas = Object.entries(document.components.schemas)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([name, schema]) =>
        `<details id="schema-${text(name)}"><summary>${text(name)}</summary>${schemaHtml(schema)}</details>`,
    );
  const links = document.tags.map(({ name }) => `<a href="#${name}">${text(name)}</a>`).join(' ');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${text(document.info.title)} API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${STYLE}</style></head><body>
<header><h1>${text(document.info.title)} API <small>${text(document.info.version)}</small></h1>
<p>${text(document.info.summary)}</p><nav>${links} <a href="#schemas">schemas</a> <a href="/openapi.json">openapi.json</a></nav></header>
<main>${sections.join('')}<section><h2 id="schemas">schemas</h2>${schemas.join('')}</section></main></body></html>
`;
}

/** Nothing on the page may run or load. */
export const DOCS_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

interface DescribedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
}

interface DescribedAnswer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string }>>;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}

interface Media {
  readonly schema: object;
  readonly example?: unknown;
}

function operationHtml(operation: DescribedOperation & { readonly path: string; readonly method: string }): string {
  const { method, path, summary, description, operationId, parameters, requestBody, responses } = operation;
  return `<details id="${text(operationId)}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${text(path)}</code> ${text(summary)}</summary>
${description === undefined ? '' : `<p>${marked(description)}</p>`}
${parameters.length === 0 ? '' : `<h4>Parameters</h4><table>${parameters.map(parameterRow).join('')}</table>`}
${requestBody === undefined ? '' : `<h4>Body</h4>${mediaHtml(requestBody.content)}`}
<h4>Answers</h4><table>${Object.entries(responses)
    .map(
      ([status, answer]) =>
        `<tr><td>${text(status)}</td><td>${marked(answer.description)}${headersHtml(answer.headers ?? {})}${mediaHtml(answer.content ?? {})}</td></tr>`,
    )
    .join('')}</table></details>`;
}

function parameterRow({ name, in: place, required, description, schema }: Parameter): string {
  const notes = [place, ...(required ? ['required'] : [])].join(', ');
  return `<tr><td><code>${text(name)}</code></td><td>${notes}</td><td>${marked(description ?? '')} ${schemaHtml(schema)}</td></tr>`;
}

function headersHtml(headers: NonNullable<DescribedAnswer['headers']>): string {
  return Object.entries(headers)
    .map(([name, { description }]) => `<div><code>${text(name)}</code> ${marked(description)}</div>`)
    .join('');
}

function mediaHtml(content: Readonly<Record<string, Media>>): string {
  return Object.entries(content)
    .filter(([type]) => type !== 'application/problem+json')
    .map(([type, { schema, example }]) => {
      return `<div><small>${text(type)}</small> ${schemaHtml(schema)}${exampleHtml(example)}</div>`;
    })
    .join('');
}

function exampleHtml(example: unknown): string {
  if (example === undefined) return '';
  const shown = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return `<pre>${text(shown)}</pre>`;
}

/** References become links; everything else is shown as it is. */
function schemaHtml(schema: object): string {
  const json = text(JSON.stringify(schema, null, 2));
  const linked = json.replaceAll(
    /#\/components\/schemas\/(\w+)/g,
    (_, name: string) => `<a href="#schema-${name}">${name}</a>`,
  );
  return linked.includes('\n') ? `<pre>${linked}</pre>` : `<code>${linked}</code>`;
}

function marked(words: string): string {
  return text(words).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function text(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:62rem;margin:0 auto;padding:1rem}
nav a{margin-right:1rem}details{border:1px solid #8885;border-radius:6px;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}summary b{display:inline-block;width:4.5rem}.get{color:#2a7}.post{color:#48c}.patch{color:#a72}.delete{color:#c44}
pre{overflow:auto;background:#8881;padding:.6rem;border-radius:6px}table{border-collapse:collapse;width:100%}
td{border-top:1px solid #8883;padding:.3rem .6rem .3rem 0;vertical-align:top}h4{margin:.8rem 0 .2rem}`;
