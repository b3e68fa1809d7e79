import { z } from 'zod';
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode } from '../../contract/problem.ts';
import { problemSchema } from '../../contract/problem-answer.ts';
import type { AnswerSpec, EventStreamSpec, Operation } from './operation.ts';

/** The OpenAPI 3.1 document of the operations. Its schemas are those that requests are parsed with. */
export function openApiDocument(operations: readonly Operation[], version: string): OpenApiDocument {
  const schemas: Record<string, object> = {};
  const paths: Record<string, Record<string, object>> = {};
  for (const each of operations) {
    paths[each.path] = { ...paths[each.path], [each.method.toLowerCase()]: describe(each, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Trawl',
      version,
      summary: 'Bulk web scraping: jobs of millions of items, every one of them accounted for.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }, { bearer: [] }],
    tags: TAGS,
    paths,
    components: {
      schemas,
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly license: object;
  };
  readonly servers: readonly object[];
  readonly security: readonly object[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object };
}

const TAGS = [
  { name: 'jobs', description: 'Create, watch and control jobs.' },
  { name: 'items', description: 'The items of a job and their outcomes.' },
  { name: 'results', description: 'The collected data.' },
  { name: 'scrapers', description: 'The available scrapers.' },
  { name: 'hosts', description: 'Hosts that asked for a pause.' },
  { name: 'sites', description: 'Documentation sites, what is cached of them, and their failures.' },
  { name: 'runs', description: 'Scrape runs: a domain and its URLs, each done, failed, invalid or pending.' },
  { name: 'service', description: 'The service itself.' },
];

/** What every operation can answer. */
const COMMON: readonly ProblemCode[] = ['malformed_request', 'forbidden_host', 'forbidden_origin', 'stopping'];

function describe(operation: Operation, schemas: Record<string, object>): object {
  const { id, tag, summary, description, access } = operation;
  const codes = new Set<ProblemCode>([
    ...COMMON,
    ...(access === 'open' ? [] : (['unauthorized'] as const)),
    ...(access === 'full' ? (['forbidden'] as const) : []),
    // A body is checked even where none is expected.
    ...(operation.method === 'GET' ? [] : (['too_large', 'unsupported_media_type'] as const)),
    'invalid_request',
    'storage_trouble',
    'internal_error',
    ...operation.problems,
  ]);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(access === 'open' ? { security: [] } : {}),
    parameters: [
      ...parametersOf(operation.params, 'path', schemas),
      ...parametersOf(operation.query, 'query', schemas),
      ...headerParameters(operation),
    ],
    ...requestBodyOf(operation, schemas),
    responses: { ...answersOf(operation, schemas), ...problemsOf([...codes], operation, schemas) },
  };
}

function headerParameters({ headers = {} }: Operation): object[] {
  return Object.entries(headers).map(([name, description]) => {
    return { name, in: 'header', required: false, description, schema: { type: 'string' } };
  });
}

function parametersOf(schema: z.ZodType, place: 'path' | 'query', schemas: Record<string, object>): object[] {
  const { properties = {}, required = [] } = jsonSchemaOf(schema, 'output', schemas) as {
    properties?: Record<string, { default?: unknown; description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: place === 'path' || (required.includes(name) && property.default === undefined),
    ...(description === undefined ? {} : { description }),
    schema: property,
  }));
}

function requestBodyOf({ body }: Operation, schemas: Record<string, object>): object {
  switch (body.kind) {
    case 'none':
      return {};
    case 'json': {
      const { schema, example, isOptional } = body;
      const content = { 'application/json': { schema: jsonSchemaOf(schema, 'input', schemas), example } };
      return { requestBody: { required: !isOptional, content } };
    }
    case 'stream': {
      const content = Object.entries(body.contentTypes).map(([type, { schema, example }]) => [
        type,
        { schema: jsonSchemaOf(schema, 'input', schemas), example },
      ]);
      return { requestBody: { required: true, content: Object.fromEntries(content) } };
    }
  }
}

function answersOf({ answers }: Operation, schemas: Record<string, object>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [status, { ...answerOf(answer, schemas) }]),
  );
}

function answerOf({ description, content, headers = {} }: AnswerSpec, schemas: Record<string, object>): object {
  return {
    description,
    ...headersOf(headers),
    ...(content === undefined
      ? {}
      : {
          content: Object.fromEntries(
            Object.entries(content).map(([type, schema]) => [type, mediaOf(schema, schemas)]),
          ),
        }),
  };
}

function mediaOf(spec: z.ZodType | string | EventStreamSpec, schemas: Record<string, object>): object {
  if (typeof spec === 'string') return { schema: { type: 'string', description: spec } };
  if (!('events' in spec)) return { schema: jsonSchemaOf(spec, 'output', schemas) };
  const { description, events } = spec;
  // OpenAPI 3.1 has no other way to describe the events of a stream; 3.2 has `itemSchema`.
  const contentSchema = { type: 'array', items: jsonSchemaOf(events, 'output', schemas) };
  return { schema: { type: 'string', description, contentMediaType: 'text/event-stream', contentSchema } };
}

function headersOf(headers: Readonly<Record<string, string>>): { readonly headers?: object } {
  const described = Object.entries(headers).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  return described.length === 0 ? {} : { headers: Object.fromEntries(described) };
}

/** Headers that accompany the problems of a status. */
const PROBLEM_HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'How to send a key.' },
  415: { 'Accept-Encoding': 'If the encoding of the body is not accepted: the accepted ones.' },
  416: {
    'Content-Range': 'The size of the artifact.',
    ETag: 'SHA-256 of the complete artifact, in quotes.',
    'Accept-Ranges': 'Always `bytes`.',
  },
  503: { 'Retry-After': 'Seconds to wait before trying again.' },
};

/** One answer per status, listing the codes it can have. */
function problemsOf(codes: readonly ProblemCode[], operation: Operation, schemas: Record<string, object>) {
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  const schema = jsonSchemaOf(problemSchema, 'output', schemas);
  return Object.fromEntries(
    [...byStatus]
      .sort(([one], [other]) => one - other)
      .map(([status, some]) => {
        const description = some.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' ');
        const own = operation.answers[status];
        const content = { [PROBLEM_TYPE]: { schema } };
        const headers = PROBLEM_HEADERS[status] ?? {};
        if (own === undefined) return [status, { description, ...headersOf(headers), content }];
        const described = answerOf({ ...own, headers: { ...own.headers, ...headers } }, schemas) as {
          content?: object;
        };
        const all = { ...described.content, ...content };
        return [status, { ...described, description: `${own.description} ${description}`, content: all }];
      }),
  );
}

/** Named schemas become components and are referred to. */
function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, object>): object {
  const made = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' });
  const {
    $schema: _,
    $defs,
    ...rest
  } = JSON.parse(JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/')) as {
    $schema?: string;
    $defs?: Record<string, object>;
    id?: string;
  };
  for (const [name, definition] of Object.entries($defs ?? {})) schemas[name] = withoutId(definition);
  const { id, ...own } = rest;
  if (id === undefined) return own;
  schemas[id] = own;
  return { $ref: `#/components/schemas/${id}` };
}

function withoutId(definition: object): object {
  const { id: _, ...rest } = definition as { id?: string };
  return rest;
}
