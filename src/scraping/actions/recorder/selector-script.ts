/**
 * Finds selectors for an element, in the page that is being recorded: test id, label, role and name, text, id, name, CSS path,
 * XPath. Only those are kept that match this element alone, so that a replay cannot take another one.
 * It is a text, not a function: it runs in another world and may not refer to anything of ours.
 */
export const SELECTOR_SCRIPT = String.raw`
  const MOST_ELEMENTS = 5000;
  const MOST_TEXT = 80;
  const TEST_IDS = ['data-test', 'data-test-id', 'data-qa', 'data-cy'];
  const BUTTONS = ['submit', 'button', 'reset', 'image'];
  const TEXT_INPUTS = ['text', 'email', 'tel', 'url'];
  const INPUT_ROLES = { checkbox: 'checkbox', radio: 'radio', number: 'spinbutton', range: 'slider', search: 'searchbox' };
  const TAG_ROLES = { BUTTON: 'button', SUMMARY: 'button', TEXTAREA: 'textbox', OPTION: 'option' };
  const BY_CONTENT = ['button', 'link', 'heading', 'option', 'tab', 'menuitem', 'switch', 'checkbox', 'radio', 'treeitem'];
  const CONTROLS = ['INPUT', 'SELECT', 'TEXTAREA'];

  const clean = (text) => (text ?? '').replace(/\s+/g, ' ').trim();
  const fold = (text) => clean(text).toLowerCase();
  /** What both a browser and a page without styles would call its text; empty if they differ. */
  const textOf = (element) => {
    const text = clean(element.textContent);
    return text.length <= MOST_TEXT && fold(element.innerText) === fold(text) ? text : '';
  };
  const quoted = (text) => '"' + text.replace(/["\\]/g, '\\$&') + '"';
  const attribute = (name, value) => '[' + name + '=' + quoted(value) + ']';
  const all = (root) => {
    const found = root.querySelectorAll('*');
    return found.length <= MOST_ELEMENTS ? [...found] : [];
  };
  const isOnly = (root, css, element) => {
    try {
      const found = root.querySelectorAll(css);
      return found.length === 1 && found[0] === element;
    } catch {
      return false;
    }
  };

  const roleOf = (element) => {
    const own = clean(element.getAttribute('role')).toLowerCase().split(' ')[0];
    if (own) return own;
    const { tagName } = element;
    if (tagName === 'A' || tagName === 'AREA') return element.hasAttribute('href') ? 'link' : null;
    if (tagName === 'SELECT') return element.multiple || element.size > 1 ? 'listbox' : 'combobox';
    if (/^H[1-6]$/.test(tagName)) return 'heading';
    if (tagName !== 'INPUT') return TAG_ROLES[tagName] ?? null;
    if (BUTTONS.includes(element.type)) return 'button';
    if (TEXT_INPUTS.includes(element.type)) return element.list ? null : 'textbox';
    return INPUT_ROLES[element.type] ?? null;
  };
  const labelOf = (element) => {
    const labels = [...(element.labels ?? [])];
    // The text of a label around a list would have the texts of its options.
    if (labels.length !== 1 || labels[0].querySelector('select, textarea')) return '';
    return textOf(labels[0]);
  };
  const nameOf = (element) => {
    const root = element.getRootNode();
    const by = clean(element.getAttribute('aria-labelledby'));
    if (by) return by.split(' ').map((id) => clean(root.getElementById?.(id)?.textContent)).join(' ').trim();
    const own = clean(element.getAttribute('aria-label'));
    if (own) return own;
    const { tagName, type } = element;
    let native = '';
    if (tagName === 'INPUT' && type === 'image') native = clean(element.alt);
    else if (tagName === 'INPUT' && BUTTONS.includes(type)) native = clean(element.getAttribute('value'));
    else if (CONTROLS.includes(tagName)) native = labelOf(element);
    else if (BY_CONTENT.includes(roleOf(element))) native = textOf(element) || clean(element.querySelector('img[alt]')?.alt);
    return native || clean(element.getAttribute('title')) || clean(element.getAttribute('placeholder'));
  };

  /** Ids with long numbers and those of frameworks are others on the next visit. */
  const isStable = (id) =>
    id !== '' && !/\d{4,}|[0-9a-f]{8,}|^:|^(?:ember|ext-gen|yui_|radix-|mui-|react-|headlessui-)/i.test(id);

  const byTestId = (element, root) => {
    const id = element.getAttribute('data-testid');
    if (id) return isOnly(root, attribute('data-testid', id), element) ? ['testid/' + id] : [];
    for (const name of TEST_IDS) {
      const css = element.hasAttribute(name) ? attribute(name, element.getAttribute(name)) : null;
      if (css && isOnly(root, css, element)) return [css];
    }
    return [];
  };
  const byLabel = (element, root) => {
    if (!CONTROLS.includes(element.tagName)) return [];
    const label = labelOf(element) || clean(element.getAttribute('aria-label'));
    if (!label) return [];
    const same = all(root).filter(
      (each) =>
        CONTROLS.includes(each.tagName) && [labelOf(each), each.getAttribute('aria-label')].some((text) => fold(text) === fold(label)),
    );
    return same.length === 1 ? ['label/' + label] : [];
  };
  const byRole = (element, root) => {
    const role = roleOf(element);
    const name = role === null ? '' : nameOf(element);
    if (!/^[a-z]+$/.test(role ?? '') || !name || name.length > MOST_TEXT) return [];
    const same = all(root).filter((each) => roleOf(each) === role && fold(nameOf(each)) === fold(name));
    return same.length === 1 ? ['role/' + role + '[name="' + name + '"]'] : [];
  };
  const byText = (element, root) => {
    if (CONTROLS.includes(element.tagName)) return [];
    const text = textOf(element);
    if (!text) return [];
    const same = all(root).filter((each) => fold(each.textContent) === fold(text));
    const innermost = same.filter((each) => !same.some((other) => other !== each && each.contains(other)));
    return innermost.length === 1 && element.contains(innermost[0]) ? ['text/' + text] : [];
  };
  const byId = (element, root) => {
    const css = isStable(element.id) ? '#' + CSS.escape(element.id) : '';
    return css && isOnly(root, css, element) ? [css] : [];
  };
  const byName = (element, root) => {
    const name = CONTROLS.includes(element.tagName) ? element.getAttribute('name') : null;
    const css = name ? element.tagName.toLowerCase() + attribute('name', name) : '';
    return css && isOnly(root, css, element) ? [css] : [];
  };
  const numberOf = (element) => {
    const twins = [...(element.parentNode?.children ?? [])].filter((each) => each.tagName === element.tagName);
    return twins.length > 1 ? twins.indexOf(element) + 1 : 0;
  };
  const byPath = (element, root) => {
    const steps = [];
    for (let at = element; at && at.nodeType === 1; at = at.parentElement) {
      const [id] = at === element ? [] : byId(at, root);
      const number = numberOf(at);
      steps.unshift(id ?? CSS.escape(at.tagName.toLowerCase()) + (number ? ':nth-of-type(' + number + ')' : ''));
      if (id) break;
    }
    const css = steps.join(' > ');
    return isOnly(root, css, element) ? [css] : [];
  };
  const byXPath = (element, root) => {
    if (root !== document) return [];
    const steps = [];
    for (let at = element; at && at.nodeType === 1; at = at.parentElement) {
      if (!/^[a-z][a-z0-9]*$/i.test(at.localName)) return [];
      if (at !== element && byId(at, root).length > 0 && !at.id.includes('"')) {
        return ['xpath///*[@id="' + at.id + '"]/' + steps.join('/')];
      }
      const number = numberOf(at);
      steps.unshift(at.localName + (number ? '[' + number + ']' : ''));
    }
    return ['xpath//' + steps.join('/')];
  };

  const inRoot = (element, root) =>
    [byTestId, byLabel, byRole, byText, byId, byName, byPath, byXPath].flatMap((find) => find(element, root));

  /** Alternatives, the best first; inside of shadow roots, paths that lead through their hosts. */
  const selectorsOf = (element) => {
    const root = element.getRootNode();
    const found = inRoot(element, root);
    if (!(root instanceof ShadowRoot)) return found;
    const way = [];
    for (let host = root.host; host; host = host.getRootNode().host) {
      const outer = host.getRootNode();
      const [css] = [...byTestId(host, outer).filter((each) => !each.startsWith('testid/')), ...byId(host, outer), ...byPath(host, outer)];
      if (!css) return [];
      way.unshift(css);
    }
    return found.map((each) => [...way, each]);
  };
`;
