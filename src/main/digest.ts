import { hash } from 'node:crypto';

/** SHA-256, in hexadecimal digits. */
export const digest = (text: string): string => hash('sha256', text);
