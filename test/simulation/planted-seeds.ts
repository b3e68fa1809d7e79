/**
 * Seeds that have shown a planted bug, where it takes more than a few to come to one. They only save time: when the
 * engine changes so that one of them no longer shows its bug, `npm test` looks from the first seed on. The slow run
 * always does, and says which seed it was.
 */
export const KNOWN_SEEDS: Readonly<Record<string, number>> = {
  'no fence on settle': 14,
  'a late write replaces what was recorded': 14,
  'a partial failure of send is ignored': 20,
  'the reaper serves one job only': 6,
  'a job is completed without a look at its items': 46,
  'artifact keys without the attempt': 20,
  'a suspect batch is blamed as a whole': 5,
  'a release gives a strike': 7,
  'a batch is granted to two workers': 5,
  'queued batches outlive the cancel': 88,
  'a renewal that hangs stops the heartbeat': 7,
  'a settle that is repeated is counted twice': 10,
  'the reaper trusts the wall clock': 100,
  'a lease from before the clock was set back is believed': 37,
  'a removal deletes the next job of that id': 37,
  'the id is free before the keys are gone': 14,
  'a recovered item is still counted among the failures': 21,
  'a recovery is over before its items are recovered': 56,
  'a corrected item goes out with its old input': 38,
  'a correction changes the input of an item that did not fail': 25,
  'negatives before a bad control are not reopened': 115,
  'usage is added twice by a settle that is repeated': 10,
  'work goes out although the budget is used up': 34,
  'a report of a control that is not awaited is counted': 11,
  'the share of a dead process never comes back': 19,
  'only one of the others is counted when places are given': 19,
  'slots are given again after an answer was lost': 19,
  'a host that is away gets a probe from each process': 72,
  'the pace that a process has found is forgotten': 197,
  'a batch mixes groups': 5,
  'a batch by group is out of order': 5,
  'a drafted job is made before its last items': 13,
};
