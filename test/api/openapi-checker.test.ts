import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OpenApi, openApiChecker } from '../support/openapi.ts';

/** The suite is only as good as what checks its answers. */
const thing = {
  type: 'object',
  properties: { id: { type: 'string' }, at: { type: 'string', format: 'date-time' } },
  required: ['id'],
  additionalProperties: false,
};
const problem = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const document: OpenApi = {
  paths: {
    '/things/{thing_id}': {
      get: {
        operationId: 'getThing',
        summary: 'A thing',
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
          204: {},
        },
      },
    },
  },
  components: { schemas: { Thing: thing, Problem: problem } },
};

const checker = openApiChecker(document);
function check(status: number, type: string, text: string, path = '/things/a%2Fb?deep=1') {
  checker.checkAnswer('GET', path, { status, headers: new Headers({ 'content-type': type }), text });
}

test('an answer that matches the document passes', () => {
  check(200, 'application/json; charset=utf-8', '{"id":"a","at":"2026-11-16T00:00:00Z"}');
  check(204, '', '');
  check(404, 'application/problem+json', '{"code":"not_found"}', '/nothing');
});

test('an answer that the document does not describe fails', () => {
  const bad: [number, string, string, RegExp][] = [
    [201, 'application/json', '{"id":"a"}', /not documented/],
    [200, 'text/plain', '{"id":"a"}', /text\/plain/],
    [200, 'application/json', '{"id":7}', /must be string/],
    [200, 'application/json', '{}', /required/],
    [200, 'application/json', '{"id":"a","more":1}', /additional properties/],
    [200, 'application/json', '{"id":"a","at":"yesterday"}', /format/],
    [204, '', 'a body', /body/],
  ];
  for (const [status, type, text, said] of bad) assert.throws(() => check(status, type, text), said);
  assert.throws(() => check(200, 'application/json', '{}', '/nothing'), /no such operation/);
  assert.throws(() => checker.checkSchema('Thing', {}), /required/);
});
