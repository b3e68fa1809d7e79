import type { Asked } from './relay.ts';

export type Service = 'dynamo' | 'sqs' | 's3';

/** What the API calls the request: `PutItem`, `SendMessageBatch`, `ListObjectsV2`. */
export function operationOf(service: Service, asked: Pick<Asked, 'method' | 'path' | 'headers'>): string {
  if (service === 's3') return s3Operation(asked);
  const target = asked.headers['x-amz-target'];
  return typeof target === 'string' ? target.slice(target.indexOf('.') + 1) : 'unknown';
}

/** Addresses have paths: `/bucket/key`. */
function s3Operation({ method, path, headers }: Pick<Asked, 'method' | 'path' | 'headers'>): string {
  const { pathname, searchParams: query } = new URL(path, 'http://s3');
  const [bucket = '', ...key] = pathname.slice(1).split('/');
  const where = bucket === '' ? 'service' : key.join('') === '' ? 'bucket' : 'object';
  switch (`${method} ${where}`) {
    case 'GET service':
      return 'ListBuckets';
    case 'PUT bucket':
      return query.size === 0 ? 'CreateBucket' : 'PutBucketSettings';
    case 'HEAD bucket':
      return 'HeadBucket';
    case 'DELETE bucket':
      return 'DeleteBucket';
    case 'GET bucket':
      if (query.has('list-type')) return 'ListObjectsV2';
      if (query.has('uploads')) return 'ListMultipartUploads';
      return ['location', 'lifecycle', 'versioning'].some((name) => query.has(name))
        ? 'GetBucketSettings'
        : 'ListObjects';
    case 'POST bucket':
      return query.has('delete') ? 'DeleteObjects' : 'PostObject';
    case 'PUT object':
      if (query.has('partNumber')) return 'x-amz-copy-source' in headers ? 'UploadPartCopy' : 'UploadPart';
      return 'x-amz-copy-source' in headers ? 'CopyObject' : 'PutObject';
    case 'POST object':
      return query.has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
    case 'GET object':
      return query.has('uploadId') ? 'ListParts' : 'GetObject';
    case 'HEAD object':
      return 'HeadObject';
    case 'DELETE object':
      return query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject';
    default:
      return 'unknown';
  }
}
