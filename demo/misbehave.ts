import type { ServerResponse } from 'node:http';
import { type Answer, drip, htmlAnswer, send } from './answer.ts';
import type { Fault } from './faults.ts';
import {
  blockPage,
  challengePage,
  maintenancePage,
  notFoundPage,
  renamed,
  serverErrorPage,
  tooManyRequestsPage,
} from './pages/trouble.ts';

/** Answers as the fault has it. `usual` is what would have been right, or the same for the parcel next door. */
export function misbehave(fault: Fault, response: ServerResponse, usual: (isNeighbour: boolean) => Answer): void {
  switch (fault.kind) {
    case 'timeout':
      // The visitor gives up, or the site closes: nothing else ends this one.
      break;
    case 'reset':
      response.socket?.resetAndDestroy();
      break;
    case 'drip':
      drip(response, usual(false), fault.bytes, fault.everyMs);
      break;
    case 'layout':
      send(response, redesigned(usual(false)));
      break;
    case 'wrongParcel':
      send(response, usual(true));
      break;
    case 'rateLimit':
      send(response, htmlAnswer(429, tooManyRequestsPage(), { 'Retry-After': String(fault.retryAfterSeconds) }));
      break;
    case 'challenge':
      send(
        response,
        htmlAnswer(403, challengePage('8f2b6c1d0a9e4f37'), { 'cf-mitigated': 'challenge', Server: 'cloudflare' }),
      );
      break;
    case 'block':
      send(response, htmlAnswer(200, blockPage('877000460081234567-94023870123456'), { 'X-CDN': 'Imperva' }));
      break;
    case 'maintenance':
      send(response, htmlAnswer(fault.status, maintenancePage()));
      break;
    case 'serverError':
      send(
        response,
        htmlAnswer(500, serverErrorPage('Timeout expired. The connection pool of the database is exhausted.')),
      );
      break;
    case 'notFound':
      send(response, htmlAnswer(404, notFoundPage()));
      break;
  }
}

function redesigned(answer: Answer): Answer {
  const isPage = String(answer.headers['Content-Type']).startsWith('text/html');
  return isPage ? { ...answer, body: renamed(answer.body) } : answer;
}
