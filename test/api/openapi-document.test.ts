import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { PROBLEMS } from '../../src/contract/problem.ts';
import { startService } from './service.ts';
import { Client } from './suite/client.ts';
import { SCRAPERS } from './suite/made-jobs.ts';

/** What the OpenAPI document says besides the shape of things, and that requests are checked against the same rules. */
const broken = mkdtempSync(join(tmpdir(), 'trawl-broken-'));
after(() => rmSync(broken, { recursive: true, force: true }));
writeFileSync(join(broken, 'broken.ts'), 'export default 17;\n');

const client = await Client.of(await startService({ scrapers: [...SCRAPERS, broken] }));
const document = client.document as unknown as Described;

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly type?: string;
  readonly maxProperties?: number;
}

interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Response {
  readonly headers?: Readonly<Record<string, { readonly description: string }>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

function operation(id: string): DescribedOperation {
  return operations.find(({ operationId }) => operationId === id) ?? assert.fail(`there is no ${id}`);
}

function named(name: string): Schema {
  return document.components.schemas[name] ?? assert.fail(`there is no schema ${name}`);
}

/** A reference is described by what it refers to. */
function isDescribed({ description, $ref }: Schema): boolean {
  if (description !== undefined) return description !== '';
  return $ref !== undefined && isDescribed(named($ref.replace('#/components/schemas/', '')));
}

function bareProperties(value: unknown, place: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { properties = {} } = value as Schema;
  const bare = Object.entries(properties).filter(([, schema]) => !isDescribed(schema));
  return [
    ...bare.map(([name]) => `${place} ${name}`),
    ...Object.entries(value)
      .filter(([name]) => name !== 'example')
      .flatMap(([name, each]) => bareProperties(each, `${place}/${name}`)),
  ];
}

test('every parameter and every property of the document has a description', () => {
  assert.deepEqual(bareProperties(document, ''), []);
  const parameters = operations.flatMap(({ operationId, parameters: own }) =>
    own.filter(({ description = '' }) => description === '').map(({ name }) => `${operationId} ${name}`),
  );
  assert.deepEqual(parameters, []);
  const schemas = Object.entries(document.components.schemas).filter(([, schema]) => !isDescribed(schema));
  assert.deepEqual(
    schemas.map(([name]) => name),
    [],
  );
});

test('every body has an example, which fits its schema', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi.json', undefined, false);
  let examples = 0;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { operationId, requestBody }] of Object.entries(methods)) {
      for (const [type, { example }] of Object.entries(requestBody?.content ?? {})) {
        const place = ['paths', path, method, 'requestBody', 'content', type, 'schema'];
        const pointer = place.map((part) => `/${encodeURIComponent(part.replaceAll('/', '~1'))}`).join('');
        const fits = ajv.compile({ $ref: `openapi.json#${pointer}` });
        assert.ok(fits(example), `${operationId} ${type}: ${ajv.errorsText(fits.errors)}`);
        examples += 1;
      }
    }
  }
  assert.ok(examples >= 10, `${examples} examples`);
});

test('every event of a job is described, with its name and its data', () => {
  const { content } = operation('watchJob').responses['200'] as { content: Record<string, Media> };
  const schema = content['text/event-stream']?.schema as { contentSchema?: { items: Schema } } | undefined;
  assert.equal(schema?.contentSchema?.items.$ref, '#/components/schemas/JobEvent');
  const { oneOf } = named('JobEvent') as { oneOf: readonly Schema[] };
  const names = oneOf.map(({ $ref = '' }) => {
    const { event, data } = named($ref.replace('#/components/schemas/', '')).properties ?? {};
    assert.ok(Object.keys(data?.properties ?? {}).includes('job_id'), $ref);
    return (event as { const?: string } | undefined)?.const;
  });
  assert.deepEqual(names, ['status', 'progress', 'items', 'warnings', 'end', 'gone', 'reset']);
});

test('the bodies of a new job and of a change of its policy are named, and a change has no defaults', () => {
  const bodyOf = (id: string) => operation(id).requestBody?.content['application/json']?.schema.$ref;
  assert.equal(bodyOf('createJob'), '#/components/schemas/NewJob');
  assert.equal(bodyOf('changeJob'), '#/components/schemas/PolicyChange');
  const sections = named('PolicyChange').properties?.['execution_policy']?.properties ?? {};
  assert.deepEqual(Object.keys(sections), Object.keys(named('Policy').properties ?? {}));
  for (const [name, section] of Object.entries(sections)) {
    const fields = named('Policy').properties?.[name]?.properties ?? {};
    assert.deepEqual(Object.keys(section.properties ?? {}), Object.keys(fields), name);
  }
  assert.doesNotMatch(
    JSON.stringify(named('PolicyChange')),
    /"(default|required)":(?!\["(country|execution_policy|input)"\]|\["width","height"\])/,
  );
});

test('the code of a problem is one of the list', () => {
  assert.deepEqual(named('Problem').properties?.['code']?.enum, Object.keys(PROBLEMS));
});

test('headers are documented: those that a request may have, and those that come with an answer', () => {
  const taken = operations.flatMap(({ operationId, parameters }) =>
    parameters.filter((each) => each.in === 'header').map(({ name }) => `${operationId} ${name}`),
  );
  assert.deepEqual(taken.sort(), [
    'addItems Content-Encoding',
    'addScrapeRunItems Content-Encoding',
    'createBulkJob Content-Encoding',
    'createBulkJob Idempotency-Key',
    'createJob Content-Encoding',
    'createJob Idempotency-Key',
    'createScrapeRun Content-Encoding',
    'downloadArtifact Accept-Encoding',
    'downloadArtifact If-None-Match',
    'downloadArtifact If-Range',
    'downloadArtifact Range',
    'indexSite Idempotency-Key',
    'planJob Content-Encoding',
    'watchJob Last-Event-ID',
    'watchScrapeRun Last-Event-ID',
  ]);
  const given = (id: string, status: number) => Object.keys(operation(id).responses[status]?.headers ?? {}).sort();
  assert.deepEqual(given('createJob', 201), ['Location']);
  assert.deepEqual(given('extractJob', 201), ['Location']);
  assert.deepEqual(given('planJob', 202), ['Location']);
  assert.deepEqual(given('createJob', 401), ['WWW-Authenticate']);
  assert.deepEqual(given('getReadiness', 503), ['Retry-After']);
  assert.deepEqual(given('downloadArtifact', 200), ['Accept-Ranges', 'Content-Disposition', 'ETag']);
  assert.deepEqual(given('downloadArtifact', 206), ['Accept-Ranges', 'Content-Disposition', 'Content-Range', 'ETag']);
  assert.deepEqual(given('downloadArtifact', 304), ['Accept-Ranges', 'ETag']);
  assert.deepEqual(given('downloadArtifact', 307), ['Location']);
  assert.deepEqual(given('downloadArtifact', 416), ['Accept-Ranges', 'Content-Range', 'ETag']);
  assert.deepEqual(given('exportJob', 200), ['Content-Disposition']);
});

test('an integer in a query is decimal digits, and nothing else that could be read as a number', async () => {
  const limit = operation('listJobs').parameters.find(({ name }) => name === 'limit');
  assert.deepEqual([limit?.schema.type, limit?.schema.default], ['integer', 20]);
  for (const text of ['', '%20', '0x10', '1e1', '1.0', '+1', '-1', '%D9%A1', '0', '501', '99999999999', '1&limit=2']) {
    const { errors } = await client.refused(422, 'invalid_request', 'GET', `/jobs?limit=${text}`);
    assert.deepEqual(
      errors?.map(({ path }) => path),
      ['limit'],
      text,
    );
  }
  await client.get('/jobs?limit=007');
  await client.refused(422, 'invalid_request', 'GET', '/jobs/nobody/results?part=');
  await client.refused(404, 'job_not_found', 'GET', '/jobs/nobody/results?part=0');
});

test('a yes-or-no parameter of a query is documented as a boolean', () => {
  const redirect = operation('downloadArtifact').parameters.find(({ name }) => name === 'redirect');
  assert.deepEqual([redirect?.schema.type, redirect?.schema.default], ['boolean', false]);
});

test('the number of labels that a job may have is documented, and applies to every job that is created', async () => {
  const extraction = operation('extractJob').requestBody?.content['application/json']?.schema;
  for (const schema of [named('NewJob'), extraction]) {
    const whole = schema?.$ref === undefined ? schema : named(schema.$ref.replace('#/components/schemas/', ''));
    assert.equal(whole?.properties?.['labels']?.maxProperties, 50);
  }
  const labels = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`label-${index}`, '']));
  for (const path of ['/jobs', '/jobs/nobody/extract']) {
    const json = { ...(path === '/jobs' ? { scraper_id: 'example-noop' } : {}), labels };
    const { errors } = await client.refused(422, 'invalid_request', 'POST', path, { json });
    assert.deepEqual(errors, [
      { path: 'labels', code: 'invalid_value', message: 'at most 50 labels are allowed, not 51' },
    ]);
  }
});

test('text that cannot be stored is refused wherever it would name a job or an item', async () => {
  const bodies: [path: string, body: string, field: string][] = [
    ['/jobs/nobody/extract', '{"job_id":"\\ud800"}', 'job_id'],
    ['/jobs/nobody/extract', '{"job_id":"a\\u0000"}', 'job_id'],
    ['/jobs/nobody/extract', '{"job_name":"\\udfff"}', 'job_name'],
    ['/jobs/nobody/extract', '{"labels":{"why":"\\ud800"}}', 'labels.why'],
    ['/jobs/nobody/retry', '{"item_ids":["a","\\ud800"]}', 'item_ids.1'],
    ['/jobs', '{"scraper_id":"example-noop","job_id":"\\ud800"}', 'job_id'],
  ];
  for (const [path, body, field] of bodies) {
    const asked = { body, headers: { 'content-type': 'application/json' } };
    const { errors } = await client.refused(422, 'invalid_request', 'POST', path, asked);
    assert.deepEqual(
      errors?.map((each) => each.path),
      [field],
      body,
    );
  }
  const json = { labels: { '\ud800': 'half a name' } };
  await client.refused(422, 'invalid_request', 'POST', '/jobs/nobody/extract', { json });
});

test('a change of policy is refused with the path of each field that is unknown or wrong', async () => {
  const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', hold: true });
  const execution_policy = { retries: { max_retry: 5, max_retries: 'many' }, speed: 1, robots: null };
  const json = { execution_policy };
  const { errors } = await client.refused(422, 'invalid_request', 'PATCH', `/jobs/${jobId}`, { json });
  assert.deepEqual(errors?.map(({ path }) => path.replace('execution_policy.', '')).sort(), [
    'retries.max_retries',
    'retries.max_retry',
    'robots',
    'speed',
  ]);
});

test('a scraper that cannot be loaded is distinguished from one that does not exist', async () => {
  const { detail } = await client.refused(409, 'scraper_unusable', 'GET', '/scrapers/broken');
  assert.match(detail, /broken/);
  await client.refused(404, 'scraper_not_found', 'GET', '/scrapers/nobody');
});

test('a re-extraction that the same request has already created is not created again, and the answer says so', async () => {
  const items = [{ item_id: 'one', input: { owner: 'SMITH' } }];
  const { job_id: source } = await client.run({ scraper_id: 'test-kept', items });
  const json = { job_id: 'read again', scraper_id: 'test-kept-again' };
  const answers = [];
  for (let asked = 0; asked < 2; asked += 1) {
    answers.push(await client.ask('POST', `/jobs/${source}/extract`, { json }));
    await client.ended(json.job_id);
  }
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('location')]),
    [
      [201, '/jobs/read%20again'],
      [200, null],
    ],
  );
});
