import type { Condition } from '../../domain/recording/condition.ts';
import { passesCount, passesText, passesUrl, type TextTest } from '../../domain/recording/text-test.ts';
import { visibleText } from '../extract/visible-text.ts';
import type { StepScope } from './step-scope.ts';
import type { Aim } from './wanted.ts';

/** Whether a condition holds for what the page shows now. */
export async function holds(condition: Condition, scope: StepScope): Promise<boolean> {
  return isSo(scope.render(condition), scope);
}

async function isSo(condition: Condition, scope: StepScope): Promise<boolean> {
  const { engine } = scope;
  switch (condition.type) {
    case 'exists': {
      const wanted = scope.aimed(condition);
      if (condition.visible !== undefined) return (await engine.isVisible(wanted)) === condition.visible;
      return (await engine.look(wanted, 'fresh')).elements.length > 0;
    }
    case 'text':
      return says(condition, condition.text, scope);
    case 'count': {
      const { elements } = await engine.look(scope.aimed(condition), 'fresh');
      return passesCount(condition.count, elements.length);
    }
    case 'value': {
      const value = await engine.value(scope.aimed(condition));
      return value !== null && passesText(condition.value, value);
    }
    case 'url':
      return passesUrl(condition.url, engine.url());
    case 'not':
      return !(await isSo(condition.condition, scope));
    case 'and':
      for (const each of condition.conditions) if (!(await isSo(each, scope))) return false;
      return true;
    case 'or':
      for (const each of condition.conditions) if (await isSo(each, scope)) return true;
      return false;
  }
}

/** Whether an element says something; without one, the page. */
export async function says(aim: Aim, test: TextTest, scope: StepScope): Promise<boolean> {
  const text = await textNow(aim, scope);
  return text !== null && passesText(test, text);
}

/** What an element, or the page, says now; null if there is no such element. */
export async function textNow(aim: Aim, scope: StepScope): Promise<string | null> {
  const wanted = scope.wanted(aim);
  if (wanted === null) return visibleText((await scope.engine.page(scope.frame(aim), 'fresh')).document);
  const [first] = (await scope.engine.look(wanted, 'fresh')).elements;
  return first === undefined ? null : visibleText(first);
}
