import { after, test } from 'node:test';
import { CreateBucketCommand, ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3';
import { openAwsClients } from '../../../src/adapters/aws/clients.ts';
import { openS3ResultStore, type S3ResultStore } from '../../../src/adapters/aws/result-store.ts';
import { startS3 } from '../../support/aws/emulators.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** All calls between the store and the emulator come through here. `go` lets a call pass. */
export type Passer = (
  call: { readonly name: string; readonly input: object },
  go: () => Promise<void>,
) => Promise<void>;

export interface Room {
  readonly store: S3ResultStore;
  readonly s3: S3Client;
  readonly bucket: string;
  /** The URL of the bucket, for clients that speak plain HTTP. */
  readonly url: string;
  readonly clock: FakeClock;
  /** The operations that were sent, each try by itself, since the test began. */
  readonly sent: string[];
  /** Each call once, before the SDK repeats anything. */
  onCall(passer: Passer): void;
  /** Each try: what is thrown here is a connection error to the SDK. */
  onTry(passer: Passer): void;
  /** Uploads that are neither completed nor aborted. */
  unfinished(): Promise<readonly string[]>;
}

/** Short pauses take no time, and deadlines are never reached. */
class EagerClock extends FakeClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return ms <= 10_000 ? this.turn() : super.sleep(ms, signal);
  }
}

export const NOBODY = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

const emulator = await startS3();
after(() => emulator.stop());
let buckets = 0;

/** A test in an empty bucket of its own. */
export function inRoom(name: string, body: (room: Room) => Promise<void>): void {
  test(name, { timeout: 300_000 }, async () => {
    buckets += 1;
    const bucket = `room-${process.pid}-${buckets}`;
    const { s3, close } = openAwsClients({ ...NOBODY, endpoints: { s3: emulator.url } });
    try {
      await s3.send(new CreateBucketCommand({ Bucket: bucket }));
      const [sent, clock] = [[] as string[], new EagerClock()];
      watch(s3, 'try', async ({ name: command }, go) => {
        sent.push(command);
        await go();
      });
      await body({
        store: openS3ResultStore({ s3, bucket, clock }),
        ...{ s3, bucket, clock, sent, url: `${emulator.url}/${bucket}` },
        onCall: (passer) => watch(s3, 'call', passer),
        onTry: (passer) => watch(s3, 'try', passer),
        async unfinished() {
          const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
          return Uploads.map(({ Key }) => Key ?? '');
        },
      });
    } finally {
      close();
    }
  });
}

let passers = 0;

function watch(s3: S3Client, where: 'call' | 'try', passer: Passer): void {
  passers += 1;
  const name = `passer-${passers}`;
  if (where === 'call') s3.middlewareStack.add(passing(passer), { step: 'initialize', priority: 'low', name });
  else s3.middlewareStack.add(passing(passer), { step: 'finalizeRequest', priority: 'low', name });
}

function passing(passer: Passer) {
  return <Args extends { readonly input: object }, Answer>(
    next: (args: Args) => Promise<Answer>,
    { commandName = '' }: { readonly commandName?: string },
  ) =>
    async (args: Args): Promise<Answer> => {
      const answers: Answer[] = [];
      await passer({ name: commandName.replace(/Command$/, ''), input: args.input }, async () => {
        answers.push(await next(args));
      });
      const [answer] = answers;
      if (answer === undefined) throw new Error('nobody let it pass');
      return answer;
    };
}

/** An error as the SDK throws it. */
export function refused(name: string, status: number): Error {
  const error = Object.assign(new Error(`${name}, says the test`), { $metadata: { httpStatusCode: status } });
  error.name = name;
  return error;
}

export function brokenLine(): Error {
  return Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
}
