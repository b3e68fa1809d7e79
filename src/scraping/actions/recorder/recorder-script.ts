import { SELECTOR_SCRIPT } from './selector-script.ts';

/** The function of the page by which events reach us. */
export const BINDING = '__trawlRecord';

/**
 * Runs in each frame before its own scripts, and reports what a person does there. Only events that the browser made are
 * reported: what scripts do follows by itself when the steps are carried out. What is typed into a password field does not
 * leave the page. A text, not a function, for the same reason as the selectors.
 */
export const RECORDER_SCRIPT = `(() => {
  const report = window['${BINDING}'];
  if (typeof report !== 'function') return;
  delete window['${BINDING}'];
${SELECTOR_SCRIPT}
  const now = Date.now.bind(Date);
  const here = Math.random().toString(36).slice(2);
  const refs = new WeakMap();
  const secrets = new WeakSet();
  let count = 0;
  const NO_TEXT = ['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image', 'range', 'color', 'hidden'];
  const ACTING = 'a, button, input, select, textarea, label, summary, option, area, [onclick], ' +
    '[role=button], [role=link], [role=tab], [role=menuitem], [role=option], [role=checkbox], [role=radio], [role=switch]';

  const isText = (element) =>
    element.tagName === 'TEXTAREA' || element.isContentEditable || (element.tagName === 'INPUT' && !NO_TEXT.includes(element.type));
  const described = (element) => {
    const selectors = selectorsOf(element).slice(0, 12);
    if (selectors.length === 0) return null;
    if (!refs.has(element)) refs.set(element, here + ':' + (count += 1));
    return { ref: refs.get(element), isText: isText(element), selectors };
  };
  const send = (event) => {
    try {
      report(JSON.stringify({ ...event, at: now() }));
    } catch {
      // A page must never notice the recorder.
    }
  };
  const sendAbout = (element, event) => {
    const about = element && described(element);
    if (about) send({ ...event, element: about });
  };
  const targetOf = (event) => {
    const [first] = event.composedPath();
    return first instanceof Element ? first : null;
  };
  const actingOn = (target) => target.closest(ACTING) ?? target;
  const modifiersOf = (event) =>
    [['Alt', event.altKey], ['Control', event.ctrlKey], ['Meta', event.metaKey], ['Shift', event.shiftKey]]
      .filter(([, isDown]) => isDown).map(([name]) => name);
  const isSecret = (element) => {
    const kinds = (element.getAttribute('autocomplete') ?? '').toLowerCase();
    if (element.type === 'password' || /password|one-time-code|cc-(?:number|csc|exp)/.test(kinds)) secrets.add(element);
    // It may be shown as text by now.
    return secrets.has(element);
  };

  const onClick = (event, button) => {
    const target = event.isTrusted ? targetOf(event) : null;
    if (!target || target === document.documentElement || target === document.body) return;
    const element = actingOn(target);
    const { tagName, type } = element;
    // The browser clicks the control of a label by itself; choices are reported when they change.
    if (tagName === 'LABEL' && element.control) return;
    if (tagName === 'SELECT' || tagName === 'OPTION' || (tagName === 'INPUT' && ['checkbox', 'radio', 'file'].includes(type))) return;
    const box = tagName === 'CANVAS' ? element.getBoundingClientRect() : null;
    sendAbout(element, {
      type: 'click',
      button,
      modifiers: modifiersOf(event),
      isByKey: event.detail === 0,
      offset: box && { x: Math.round(event.clientX - box.x), y: Math.round(event.clientY - box.y) },
    });
  };
  addEventListener('click', (event) => onClick(event, 'left'), true);
  addEventListener('auxclick', (event) => event.button === 1 && onClick(event, 'middle'), true);
  addEventListener('dblclick', (event) => {
    const target = event.isTrusted ? targetOf(event) : null;
    if (target && !isText(target)) sendAbout(actingOn(target), { type: 'doubleClick' });
  }, true);

  addEventListener('input', (event) => {
    const target = event.isTrusted ? targetOf(event) : null;
    if (!target) return;
    const { tagName, type } = target;
    if (tagName === 'SELECT') {
      sendAbout(target, { type: 'select', values: [...target.selectedOptions].map(({ value }) => value) });
    } else if (tagName === 'INPUT' && (type === 'checkbox' || type === 'radio')) {
      sendAbout(target, { type: 'check', checked: target.checked });
    } else if (tagName === 'INPUT' && type === 'file') sendAbout(target, { type: 'files' });
    else if (isSecret(target)) sendAbout(target, { type: 'secret' });
    else if (tagName === 'INPUT' || tagName === 'TEXTAREA') sendAbout(target, { type: 'fill', value: target.value });
    else if (target.isContentEditable) {
      const host = target.closest('[contenteditable]') ?? target;
      sendAbout(host, { type: 'fill', value: host.innerText });
    }
  }, true);

  addEventListener('keydown', (event) => {
    const target = event.isTrusted && !event.isComposing ? targetOf(event) : null;
    if (!target) return;
    const { key } = event;
    const isLine = isText(target) && target.tagName === 'INPUT';
    const isWanted = key === 'Escape' || (key === 'Enter' && (isLine || !isText(target))) ||
      ((key === 'ArrowDown' || key === 'ArrowUp') && isLine && !['number', 'date', 'time', 'month', 'week', 'datetime-local'].includes(target.type));
    if (!isWanted || target.tagName === 'SELECT') return;
    const name = [...modifiersOf(event), key].join('+');
    if (target === document.body || target === document.documentElement) send({ type: 'press', key: name, element: null });
    else sendAbout(actingOn(target), { type: 'press', key: name });
  }, true);
  addEventListener('drop', (event) => event.isTrusted && send({ type: 'drop' }), true);
})();`;
