import { z } from 'zod';
import { DOCS_POLICY, docsPage } from '../docs-page.ts';
import { openApiDocument } from '../openapi.ts';
import { type Operation, operation } from '../operation.ts';

/** The API's own documentation; these operations are part of the list it is made from. */
export function documentOperations(others: readonly Operation[], version: string): Operation[] {
  const own: Operation[] = [];
  let made: { readonly json: string; readonly page: string } | null = null;
  const documents = () => {
    if (made === null) {
      const document = openApiDocument([...others, ...own], version);
      made = { json: JSON.stringify(document), page: docsPage(document) };
    }
    return made;
  };
  const shared = {
    method: 'GET',
    tag: 'service',
    access: 'open',
  } as const;
  own.push(
    operation({
      ...shared,
      id: 'getOpenApi',
      path: '/openapi.json',
      summary: 'Get the OpenAPI 3.1 document of this API',
      answers: { 200: { description: 'The document.', content: { 'application/json': z.looseObject({}) } } },
      async handle() {
        return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, text: documents().json };
      },
    }),
    operation({
      ...shared,
      id: 'getDocs',
      path: '/docs',
      summary: 'Get the documentation page of this API',
      answers: { 200: { description: 'The page.', content: { 'text/html': 'HTML.' } } },
      async handle() {
        const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': DOCS_POLICY };
        return { status: 200, headers, text: documents().page };
      },
    }),
  );
  return own;
}
