import type { Element } from 'domhandler';
import type { Form } from '../../http/form.ts';
import type { CheckControl, Control } from '../../http/form-controls.ts';
import type { Page } from '../../http/page.ts';
import { fail } from '../../scrape-failure.ts';
import type { Interaction, OptionChoice } from '../engine.ts';
import type { PageForms } from './page-forms.ts';

type Filling = Extract<Interaction, { type: 'type' | 'fill' | 'select' | 'check' | 'upload' }>;

/** Changes a form control. Answers whether it holds something else now. */
export function fillControl(forms: PageForms, element: Element, action: Filling): boolean {
  const form = forms.of(element);
  const control = form?.controlAt(element) ?? null;
  if (form === null || control === null) {
    return fail('structure_changed', `<${element.name}> is not a control of a form`);
  }
  switch (action.type) {
    case 'fill':
      return setText(form, control, action.value);
    case 'type':
      return setText(form, control, `${action.clear || control.kind !== 'text' ? '' : control.value}${action.text}`);
    case 'select':
      return choose(form, control, action.choice);
    case 'check':
      if (control.kind !== 'checkbox' && control.kind !== 'radio') {
        return fail('structure_changed', `<${element.name}> is neither a checkbox nor a radio button`);
      }
      return tickControl(form, control, action.checked);
    case 'upload':
      if (control.kind !== 'file') return fail('structure_changed', `<${element.name}> does not take files`);
      control.files = action.files;
      return true;
  }
}

/** Recorders say "change" for everything: a list gets the option, a box is ticked by "true". */
function setText(form: Form<Page>, control: Control, value: string): boolean {
  if (control.kind === 'select') return choose(form, control, { by: 'value', values: [value] });
  if (control.kind === 'checkbox' || control.kind === 'radio') return tickControl(form, control, value !== 'false');
  if (control.kind !== 'text') return fail('structure_changed', 'the control takes no text');
  const isOther = control.value !== value;
  control.disabled = false;
  control.value = value;
  return isOther;
}

function choose(form: Form<Page>, control: Control, choice: OptionChoice): boolean {
  if (control.kind !== 'select') return fail('structure_changed', 'the element is not a list of options');
  const before = chosenIn(control);
  if (choice.by === 'index') {
    const option = control.options[choice.index] ?? fail('structure_changed', `the list has no option ${choice.index}`);
    form.fillControl(control, option.value);
  } else
    form.fillControl(
      control,
      choice.by === 'label' ? choice.label : control.multiple ? choice.values : (choice.values[0] ?? ''),
    );
  return chosenIn(control) !== before;
}

function chosenIn({ options }: Extract<Control, { kind: 'select' }>): string {
  return options.map(({ selected }) => (selected ? '1' : '0')).join('');
}

export function tickControl(form: Form<Page>, control: CheckControl, checked: boolean): boolean {
  const isOther = control.checked !== checked;
  form.fillControl(control, checked);
  return isOther;
}
