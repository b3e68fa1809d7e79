import type { AwsClients } from '../../../src/adapters/aws/clients.ts';
import { operationOf, type Service } from './aws-operation.ts';
import { consumes, unitsOf } from './consumed-units.ts';
import { type Asked, startRelay } from './relay.ts';

/** Every try counts, including the SDK's retries and failed tries. */
export interface Reading {
  /** Units of DynamoDB, and of SQS, where each 64 KB of a request is billed as one. */
  readonly units: { readonly write: number; readonly read: number; readonly sqs: number };
  /** S3 requests by cost: PUT, COPY, POST and LIST; GET and all the others; DELETE and CANCEL, which are free. */
  readonly requests: {
    readonly dynamo: number;
    readonly sqs: number;
    readonly s3Puts: number;
    readonly s3Gets: number;
    readonly s3Deletes: number;
  };
  /** By the name of the operation, such as `TransactWriteItems`. `units` are what its service bills by. */
  readonly byOperation: Readonly<Record<string, { readonly requests: number; readonly units: number }>>;
}

/** What was seen of one try. The answer is null where the connection broke. */
interface Try {
  readonly service: Service;
  readonly operation: string;
  readonly requestBytes: number;
  readonly answerBytes: number;
  readonly request: unknown;
  readonly answer: unknown;
}

/** Several proxies, and clients of this process, may count into the same one. */
export class Tally {
  #units = { write: 0, read: 0, sqs: 0 };
  #requests = { dynamo: 0, sqs: 0, s3Puts: 0, s3Gets: 0, s3Deletes: 0 };
  #byOperation = new Map<string, { requests: number; units: number }>();

  count(seen: Try): void {
    const of = this.#byOperation.get(seen.operation) ?? { requests: 0, units: 0 };
    this.#byOperation.set(seen.operation, of);
    of.requests += 1;
    switch (seen.service) {
      case 'dynamo': {
        const { write, read } = seen.answer === null ? NOTHING : unitsOf(seen.operation, seen.request, seen.answer);
        this.#requests.dynamo += 1;
        this.#units.write += write;
        this.#units.read += read;
        of.units += write + read;
        return;
      }
      case 'sqs': {
        const units = Math.max(1, Math.ceil(Math.max(seen.requestBytes, seen.answerBytes) / SQS_UNIT_BYTES));
        this.#requests.sqs += 1;
        this.#units.sqs += units;
        of.units += units;
        return;
      }
      case 's3':
        this.#requests[s3Price(seen.operation)] += 1;
        of.units += 1;
    }
  }

  read(): Reading {
    const byOperation = [...this.#byOperation].map(([operation, of]) => [operation, { ...of }] as const);
    return {
      units: { ...this.#units },
      requests: { ...this.#requests },
      byOperation: Object.fromEntries(byOperation.sort(([a], [b]) => (a < b ? -1 : 1))),
    };
  }

  reset(): void {
    this.#units = { write: 0, read: 0, sqs: 0 };
    this.#requests = { dynamo: 0, sqs: 0, s3Puts: 0, s3Gets: 0, s3Deletes: 0 };
    this.#byOperation.clear();
  }
}

const NOTHING = { write: 0, read: 0 };
/** Counted with the JSON around the bodies of the messages, so a little too high. */
const SQS_UNIT_BYTES = 64 * 1024;

function s3Price(operation: string): 's3Puts' | 's3Gets' | 's3Deletes' {
  if (/^(?:Delete|Abort)/.test(operation)) return 's3Deletes';
  return /^(?:Get|Head)/.test(operation) ? 's3Gets' : 's3Puts';
}

export interface MeterProxy {
  readonly url: string;
  read(): Reading;
  reset(): void;
  stop(): Promise<void>;
}

/**
 * Counts what any process sends to the service. Before a fault proxy it sees what the client tries, and nothing of the
 * units of a lost reply; after one it sees what the service does.
 */
export async function startMeterProxy(options: {
  readonly target: string;
  readonly service: Service;
  readonly tally?: Tally;
}): Promise<MeterProxy> {
  const { target, service, tally = new Tally() } = options;
  const { url, stop } = await startRelay(target, async (asked, forward) => {
    const operation = operationOf(service, asked);
    const isAsked = service === 'dynamo' && consumes(operation);
    const sent = isAsked ? askingForUnits(asked) : asked;
    const seen = { service, operation, requestBytes: asked.body.length, request: isAsked ? fieldsOf(sent.body) : null };
    try {
      const answer = await forward(sent);
      const fields = isAsked ? fieldsOf(answer.body) : null;
      tally.count({ ...seen, answerBytes: answer.body.length, answer: fields });
      return answer;
    } catch (error) {
      tally.count({ ...seen, answerBytes: 0, answer: null });
      throw error;
    }
  });
  return { url, read: () => tally.read(), reset: () => tally.reset(), stop };
}

/** The client gets the units as well, which does no harm. */
function askingForUnits(asked: Asked): Asked {
  const fields = { ...(fieldsOf(asked.body) as object), ReturnConsumedCapacity: 'TOTAL' };
  return { ...asked, body: Buffer.from(JSON.stringify(fields)) };
}

function fieldsOf(body: Buffer): unknown {
  return JSON.parse(body.toString());
}

/** Counts what these clients send from now on, and nothing from other processes. */
export function meter(clients: AwsClients): Pick<MeterProxy, 'read' | 'reset'> {
  const tally = new Tally();
  for (const service of ['dynamo', 'sqs', 's3'] as const) {
    watch(clients[service].middlewareStack as unknown as Stack, service, tally);
  }
  return tally;
}

/** As much of the SDK's stack as is needed here, without the commands by which the types of the three differ. */
interface Stack {
  add(
    middleware: (next: Next, context: { readonly commandName?: string }) => Next,
    options: { readonly step: 'initialize' | 'deserialize'; readonly priority: 'high'; readonly name: string },
  ): void;
}

type Next = (call: Call) => Promise<Called>;

interface Call {
  readonly input: object;
  /** From the step on that serialises the input. */
  readonly request?: unknown;
}

interface Called {
  readonly response: unknown;
  readonly output?: unknown;
}

function watch(stack: Stack, service: Service, tally: Tally): void {
  const operationOfCommand = (commandName = '') => commandName.replace(/Command$/, '');
  stack.add(
    (next, { commandName }) =>
      (call) => {
        const isAsked = service === 'dynamo' && consumes(operationOfCommand(commandName));
        return next(isAsked ? { ...call, input: { ...call.input, ReturnConsumedCapacity: 'TOTAL' } } : call);
      },
    { step: 'initialize', priority: 'high', name: 'askForUnits' },
  );
  // Inside the retries, outside what reads the answer: it sees every try, and the errors as the SDK understands them.
  stack.add(
    (next, { commandName }) =>
      async (call) => {
        const operation = operationOfCommand(commandName);
        const seen = { service, operation, requestBytes: lengthOf(call.request), request: call.input };
        try {
          const called = await next(call);
          tally.count({ ...seen, answerBytes: lengthOf(called.response), answer: called.output });
          return called;
        } catch (error) {
          tally.count({ ...seen, answerBytes: 0, answer: error });
          throw error;
        }
      },
    { step: 'deserialize', priority: 'high', name: 'countTries' },
  );
}

function lengthOf(message: unknown): number {
  const { headers } = message as { readonly headers: Readonly<Record<string, string>> };
  return Number(headers['content-length'] ?? 0);
}
