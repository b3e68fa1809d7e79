/** Prefix of the names of workers that end with the process that started them. */
export const CHILD = 'child-';
