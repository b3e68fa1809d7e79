import type { Service } from './aws-operation.ts';
import type { Chance } from './fault-chance.ts';
import { type Answer, type Asked, jsonAnswer } from './relay.ts';

/** An error of the service, said by the proxy: the server never heard of the request. */
export function refusal(service: Service, operation: string, asked: Asked, chance: Chance): Answer {
  switch (service) {
    case 'dynamo':
      return dynamoRefusal(operation, asked, chance);
    case 'sqs':
      return sqsRefusal(chance);
    case 's3':
      return s3Refusal(operation, asked, chance);
  }
}

/** What a service says when it is in trouble; by itself it does not show whether the request was applied. */
export function internalError(service: Service, asked: Asked): Answer {
  switch (service) {
    case 'dynamo':
      return dynamoError('InternalServerError', 'Internal server error', 500);
    case 'sqs':
      return sqsError('InternalFailure', 500);
    case 's3':
      return s3Error('InternalError', 'We encountered an internal error. Please try again.', 500, asked);
  }
}

function dynamoRefusal(operation: string, asked: Asked, chance: Chance): Answer {
  const plain = [
    () => dynamoError('ProvisionedThroughputExceededException', 'The level of configured throughput was exceeded.'),
    () => dynamoError('ThrottlingException', 'Throughput exceeds the current capacity of your table or index.'),
    () => internalError('dynamo', asked),
  ] as const;
  switch (operation) {
    case 'TransactWriteItems':
      return chance.pick([
        ...plain,
        () => cancelled(asked, chance),
        () => cancelled(asked, chance),
        () => dynamoError('TransactionInProgressException', 'The transaction with the given token is in progress.'),
      ])();
    case 'TransactGetItems':
      return chance.pick([...plain, () => cancelled(asked, chance)])();
    case 'PutItem':
    case 'UpdateItem':
    case 'DeleteItem':
      // A single write that meets another client's transaction. The SDK does not retry this one.
      return chance.pick([...plain, () => dynamoError('TransactionConflictException', ONGOING)])();
    default:
      return chance.pick(plain)();
  }
}

const ONGOING = 'Transaction is ongoing for the item';
const CONFLICT = { Code: 'TransactionConflict', Message: ONGOING };
/** A transaction on a table without room is cancelled as well; no ThrottlingException reports it. */
const THROTTLED = {
  Code: 'ThrottlingError',
  Message: 'Throughput exceeds the current capacity for one or more items.',
};

/** A reason for every action, in their order; at least one of them is a reason to try again. */
function cancelled(asked: Asked, chance: Chance): Answer {
  const { TransactItems } = JSON.parse(asked.body.toString()) as { readonly TransactItems: readonly unknown[] };
  const places = [...TransactItems.keys()];
  const struck = new Set(chance.some(places, 1, Math.min(3, places.length)));
  const reason = chance.pick([CONFLICT, CONFLICT, CONFLICT, THROTTLED]);
  const reasons = places.map((place) => (struck.has(place) ? reason : { Code: 'None' }));
  const codes = reasons.map(({ Code }) => Code).join(', ');
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`;
  return jsonAnswer(400, {
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
    Message: message,
    CancellationReasons: reasons,
  });
}

function dynamoError(name: string, message: string, status = 400): Answer {
  return jsonAnswer(status, { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message });
}

function sqsRefusal(chance: Chance): Answer {
  return chance.pick([
    () => sqsError('InternalFailure', 500),
    () => sqsError('ServiceUnavailable', 503),
    () => sqsError('RequestThrottled', 400),
  ])();
}

function sqsError(name: string, status: number): Answer {
  const blame = status < 500 ? 'Sender' : 'Receiver';
  const body = { __type: `com.amazonaws.sqs#${name}`, message: 'The request was not served' };
  return jsonAnswer(status, body, { 'x-amzn-query-error': `${name};${blame}` });
}

function s3Refusal(operation: string, asked: Asked, chance: Chance): Answer {
  const plain = [
    () => s3Error('SlowDown', 'Please reduce your request rate.', 503, asked),
    () => internalError('s3', asked),
  ] as const;
  const isConditional = 'if-none-match' in asked.headers || 'if-match' in asked.headers;
  if (!isConditional || (operation !== 'PutObject' && operation !== 'CompleteMultipartUpload')) {
    return chance.pick(plain)();
  }
  // Another conditional write of the same key is under way. It must be tried again, and the SDK does not do so.
  const conflict = 'The conditional request cannot succeed due to a conflicting operation against this resource.';
  return chance.pick([...plain, () => s3Error('ConditionalRequestConflict', conflict, 409, asked)])();
}

function s3Error(code: string, message: string, status: number, { method }: Asked): Answer {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body: Buffer.from(method === 'HEAD' ? '' : xml) };
}
