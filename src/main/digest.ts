import { hash } from 'node:crypto';

/** SHA-256, in hexadecimal digits. */
export const digest = (content: string | Uint8Array): string => hash('sha256', content);
