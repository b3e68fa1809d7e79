/** Exit codes of commands. The help of each command lists the ones it uses; scripts depend on them. */
export const EXIT = {
  done: 0,
  someItemsFailed: 1,
  badUsage: 2,
  failed: 3,
  interrupted: 130,
} as const;
