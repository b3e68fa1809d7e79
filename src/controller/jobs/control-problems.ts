import type { FieldError } from '../../contract/problem.ts';
import type { Policy } from '../../domain/policy.ts';
import { inputProblem } from '../../domain/storable-input.ts';
import type { CatalogScraper } from '../intake/scraper-catalog.ts';

/** What is wrong with the control items of a policy: the job's scraper must accept each input. */
export function controlProblems(scraper: Pick<CatalogScraper, 'problemsOf'>, { controls }: Policy): FieldError[] {
  return controls.items.flatMap(({ input, expect }, index) => {
    const path = `execution_policy.controls.items.${index}`;
    const unsound = inputProblem(input) ?? inputProblem(expect ?? {});
    if (unsound !== null) return [{ ...unsound, path: joined(`${path}.input`, unsound.path) }];
    if (JSON.stringify([input, expect]).length > MAX_CONTROL_LENGTH) {
      return [{ path, message: `is longer than ${MAX_CONTROL_LENGTH} characters` }];
    }
    return scraper.problemsOf(input).map((problem) => ({ ...problem, path: joined(`${path}.input`, problem.path) }));
  });
}

/** They are stored with the policy, which every worker reads. */
const MAX_CONTROL_LENGTH = 4000;

function joined(path: string, field: string): string {
  return field === '' ? path : `${path}.${field}`;
}
