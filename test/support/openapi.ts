import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

export interface DocumentedOperation {
  readonly operationId: string;
  readonly summary: string;
  /** Empty where no key is needed; absent where the document's own applies. */
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Holds answers against an OpenAPI document: the status must be documented for the operation, the content type must be one
 * of that status, and JSON must fit its schema. The schemas are taken as they are: they allow no field that they do not
 * name (`openObjects` lists where one does), so that a field which is answered and not documented is found as well.
 */
export function openApiChecker(document: OpenApi): OpenApiChecker {
  // All services of a file have the same document, and compiling its schemas takes half a second.
  const text = JSON.stringify(document);
  const made = CHECKERS.get(text) ?? makeChecker(document);
  CHECKERS.set(text, made);
  return made;
}

const CHECKERS = new Map<string, OpenApiChecker>();

export type OpenApiChecker = ReturnType<typeof makeChecker>;

function makeChecker(document: OpenApi) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: { log() {}, warn: fail, error: fail } });
  // It exports itself in the way of CommonJS.
  addFormats.default(ajv);
  ajv.addSchema(document, ROOT, undefined, false);
  const compiled = new Map<string, ValidateFunction>();
  const validator = (pointer: string): ValidateFunction => {
    const made = compiled.get(pointer) ?? ajv.compile({ $ref: `${ROOT}#${pointer}` });
    compiled.set(pointer, made);
    return made;
  };
  const checkJson = (pointer: string, value: unknown, about: string) => {
    const validate = validator(pointer);
    if (!validate(value))
      assert.fail(`${about}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value, null, 1)}`);
  };
  return {
    /** Checks against a named schema: for JSON that comes in events. */
    checkSchema: (name: string, value: unknown) => checkJson(`/components/schemas/${name}`, value, name),
    checkAnswer(method: string, path: string, answer: Answered): void {
      const about = `${method} ${path} answered ${answer.status}`;
      const found = findOperation(document, method, path);
      const type = answer.headers.get('content-type')?.split(';')[0] ?? null;
      if (found === null) {
        // A request that is not an operation has no entry in the document; it is a problem like any other.
        assert.ok(
          [400, 403, 404, 405, 413, 415, 503].includes(answer.status),
          `${about}, and there is no such operation`,
        );
        assert.equal(type, 'application/problem+json', about);
        checkJson('/components/schemas/Problem', JSON.parse(answer.text), about);
        return;
      }
      const documented = found.operation.responses[answer.status];
      assert.ok(documented, `${about}, which is not documented: ${answer.text.slice(0, 500)}`);
      const types = Object.keys(documented.content ?? {});
      if (types.length === 0) {
        assert.equal(answer.text, '', `${about} with a body that is not documented`);
        return;
      }
      const documentedType = types.find((each) => each === type) ?? types.find((each) => each === '*/*');
      assert.ok(documentedType, `${about} as ${type}, and not as ${types.join(' or ')}`);
      if (!/[/+]json$/.test(documentedType)) return;
      const place = ['paths', found.path, method.toLowerCase(), 'responses', String(answer.status)];
      const pointer = [...place, 'content', documentedType, 'schema'].map(pointerPart).join('');
      checkJson(pointer, JSON.parse(answer.text), about);
    },
  };
}

const ROOT = 'openapi.json';

function fail(...said: unknown[]): void {
  assert.fail(`the document cannot be compiled: ${said.join(' ')}`);
}

function pointerPart(name: string): string {
  return `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
}

export interface FoundOperation {
  readonly path: string;
  readonly operation: DocumentedOperation;
}

export function findOperation({ paths }: OpenApi, method: string, path: string): FoundOperation | null {
  const wanted = path.split('?')[0] ?? '';
  for (const [template, methods] of Object.entries(paths)) {
    const operation = methods[method.toLowerCase()];
    if (operation !== undefined && patternOf(template).test(wanted)) return { path: template, operation };
  }
  return null;
}

/** No two templates of the document fit one path: a parameter is never in a place where another path has a word. */
function patternOf(template: string): RegExp {
  const pattern =
    PATTERNS.get(template) ?? new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]*')}$`);
  PATTERNS.set(template, pattern);
  return pattern;
}

const PATTERNS = new Map<string, RegExp>();

/** Places of a document in which an object may have fields that it does not name. */
export function openObjects(value: unknown, place = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const isOpen = 'properties' in value && (value as { additionalProperties?: unknown }).additionalProperties !== false;
  return [
    ...(isOpen ? [place] : []),
    ...Object.entries(value).flatMap(([name, each]) => openObjects(each, `${place}/${name}`)),
  ];
}
