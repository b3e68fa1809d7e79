/** Begins the names of workers that end with the process which started them. */
export const CHILD = 'child-';
