import { GetQueueAttributesCommand, GetQueueUrlCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** The queue to which unacknowledged messages of this one are moved. Null if it has none. */
export async function findDeadLetterQueue(sqs: SQSClient, queueUrl: string): Promise<string | null> {
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['RedrivePolicy'] }),
  );
  const arn = targetIn(Attributes.RedrivePolicy);
  if (arn === null) return null;
  const [, , , , account, name] = arn.split(':');
  const { QueueUrl: url } = await sqs.send(
    new GetQueueUrlCommand({ QueueName: name, QueueOwnerAWSAccountId: account }),
  );
  if (url === undefined) throw new Error(`the dead-letter queue ${arn} of ${queueUrl} has no address`);
  return url;
}

function targetIn(policy: string | undefined): string | null {
  if (policy === undefined || policy === '') return null;
  const { deadLetterTargetArn: arn } = JSON.parse(policy) as { readonly deadLetterTargetArn?: unknown };
  return typeof arn === 'string' ? arn : null;
}
