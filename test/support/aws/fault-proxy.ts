import { setTimeout as sleep } from 'node:timers/promises';
import { operationOf, type Service } from './aws-operation.ts';
import { splitBatch } from './fault-batches.ts';
import { Chance } from './fault-chance.ts';
import { delayed, HandedOut, type Message, reordered, repeated } from './fault-messages.ts';
import { internalError, refusal } from './fault-refusals.ts';
import { type Answer, type Asked, jsonAnswer, startRelay } from './relay.ts';

/** In the order in which they are drawn for a request; of the first three at most one strikes. */
const FAULTS = ['drop', 'refuse', 'loseReply', 'partial', 'duplicate', 'delay', 'reorder', 'slow'] as const;

/**
 * - `drop`: the connection breaks, and the server never hears of the request.
 * - `refuse`: an error of the service; the server never hears of the request.
 * - `loseReply`: the server does what it was asked, and the client gets a broken connection or a 500.
 * - `partial`: only a part of a batch of DynamoDB or SQS is done, and the answer says which.
 * - `duplicate`: in SQS, a message is sent twice, or received once more after it was deleted.
 * - `delay`: in SQS, a message becomes visible a second or two late.
 * - `reorder`: in SQS, the entries of a batch are sent, or messages handed out, in another order.
 * - `slow`: the answer comes some tens of milliseconds late.
 */
export type Fault = (typeof FAULTS)[number];

/** How likely each is for a request that it can strike, from 0 to 1; what is not named never happens. */
export type FaultRates = Readonly<Partial<Record<Fault, number>>>;

export interface FaultProxyOptions {
  readonly target: string;
  readonly service: Service;
  /** The same seed and the same requests in the same order give the same faults. */
  readonly seed: number;
  readonly faults: FaultRates;
  /** Operations that nothing happens to. */
  readonly spare?: readonly string[];
}

export interface FaultProxy {
  readonly url: string;
  /** `requests`; by fault, as `refuse`; and by fault and operation, as `refuse PutItem`. Counts only what happened. */
  counts(): Readonly<Record<string, number>>;
  /** From the next request on. */
  setFaults(rates: FaultRates): void;
  stop(): Promise<void>;
}

/** The answer is held back for as long as this, in milliseconds. */
const SLOW_MS = [3, 40] as const;

type Fields = Readonly<Record<string, unknown>>;
type Forward = (asked: Asked) => Promise<Answer>;

/** Sits between the SDK and an emulator, which by itself never fails, throttles, conflicts or doubles anything. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { service, seed, spare = [] } = options;
  const handedOut = new HandedOut();
  const counts = new Map<string, number>([['requests', 0]]);
  let rates = options.faults;
  let requests = 0;

  async function relay(asked: Asked, forward: Forward): Promise<Answer | 'hang up'> {
    const chance = new Chance(seed, requests);
    requests += 1;
    const operation = operationOf(service, asked);
    const add = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
    add('requests');
    const hits = new Set(FAULTS.filter((fault) => chance.strikes(rates[fault] ?? 0)));
    if (spare.includes(operation)) return forward(asked);
    const strike: Strike = {
      operation,
      chance,
      hits: (fault) => hits.has(fault),
      tell(fault) {
        add(fault);
        add(`${fault} ${operation}`);
      },
      mayDuplicate: (rates.duplicate ?? 0) > 0,
    };
    if (hits.has('drop')) {
      strike.tell('drop');
      return 'hang up';
    }
    if (hits.has('refuse')) {
      strike.tell('refuse');
      return refusal(service, operation, asked, chance);
    }
    const answer = await distorted(service, asked, forward, strike, handedOut);
    if (hits.has('slow')) {
      strike.tell('slow');
      await sleep(chance.whole(...SLOW_MS));
    }
    if (!hits.has('loseReply')) return answer;
    strike.tell('loseReply');
    return chance.strikes(0.5) ? 'hang up' : internalError(service, asked);
  }

  const { url, stop } = await startRelay(options.target, relay);
  return {
    url,
    counts: () => Object.fromEntries(counts),
    setFaults(changed) {
      rates = changed;
    },
    stop,
  };
}

/** What was drawn for one request. */
interface Strike {
  readonly operation: string;
  readonly chance: Chance;
  readonly mayDuplicate: boolean;
  hits(fault: Fault): boolean;
  /** Counts the fault as one that happened. */
  tell(fault: Fault): void;
}

/** Sends the request on, with the faults that strike it and its answer on the way. */
async function distorted(
  service: Service,
  asked: Asked,
  forward: Forward,
  strike: Strike,
  handedOut: HandedOut,
): Promise<Answer> {
  if (service === 's3') return forward(asked);
  if (service === 'sqs' && strike.operation === 'ReceiveMessage') return received(asked, forward, strike, handedOut);
  if (!(['partial', 'duplicate', 'delay', 'reorder'] as const).some(strike.hits)) return forward(asked);

  const { operation, chance } = strike;
  let request = fieldsOf(asked.body);
  const isSend = service === 'sqs' && (operation === 'SendMessage' || operation === 'SendMessageBatch');
  if (isSend && strike.hits('delay')) {
    request = delayed(operation, request, chance);
    strike.tell('delay');
  }
  if (operation === 'SendMessageBatch' && strike.hits('reorder')) {
    request = reordered(request, chance);
    strike.tell('reorder');
  }
  const split = strike.hits('partial') ? splitBatch(operation, request, chance) : null;
  const sent = split === null ? request : split.sent;
  const answer = sent === null ? jsonAnswer(200, { Successful: [] }) : await forward(withFields(asked, sent));
  if (answer.status !== 200) return answer;
  if (isSend && sent !== null && strike.hits('duplicate')) {
    await forward(withFields(asked, repeated(operation, sent, chance)));
    strike.tell('duplicate');
  }
  if (split === null) return answer;
  strike.tell('partial');
  return jsonAnswer(200, split.complete(fieldsOf(answer.body)), answer.headers);
}

async function received(asked: Asked, forward: Forward, strike: Strike, handedOut: HandedOut): Promise<Answer> {
  const answer = await forward(asked);
  if (answer.status !== 200 || !(strike.mayDuplicate || strike.hits('reorder'))) return answer;
  const { QueueUrl, MaxNumberOfMessages = 1 } = fieldsOf(asked.body) as Receive;
  const fields = fieldsOf(answer.body);
  let messages = (fields['Messages'] ?? []) as readonly Message[];
  // There is no room in a full answer, and leaving another message out would hide it until it becomes visible again.
  if (strike.hits('duplicate') && messages.length < MaxNumberOfMessages) {
    const again = handedOut.again(QueueUrl, messages, strike.chance);
    if (again !== null) {
      strike.tell('duplicate');
      messages = [...messages, again];
    }
  }
  handedOut.remember(QueueUrl, (fields['Messages'] ?? []) as readonly Message[]);
  if (strike.hits('reorder') && messages.length > 1) {
    strike.tell('reorder');
    messages = strike.chance.shuffled(messages);
  }
  return jsonAnswer(200, { ...fields, Messages: messages }, answer.headers);
}

interface Receive extends Fields {
  readonly QueueUrl: string;
  readonly MaxNumberOfMessages?: number;
}

function fieldsOf(body: Buffer): Fields {
  return JSON.parse(body.toString()) as Fields;
}

function withFields(asked: Asked, fields: Fields): Asked {
  return { ...asked, body: Buffer.from(JSON.stringify(fields)) };
}
