/**
 * Runs in each frame before its own scripts: adds what a headless browser lacks, in the form that desktop Chrome has.
 * Getters stay on the prototypes where they belong, and are proxies of the native ones, so that they print as native
 * code.
 * It is a text, not a function: it runs in another world and may not refer to anything of ours.
 */
export const DISGUISE_SCRIPT = `(() => {
  const answer = (object, name, value) => {
    const own = object && Object.getOwnPropertyDescriptor(object, name);
    if (!own?.get) return;
    const get = new Proxy(own.get, { apply: (target, self, args) => value(() => Reflect.apply(target, self, args)) });
    Object.defineProperty(object, name, { ...own, get });
  };
  const give = (object, fields) => {
    for (const [name, value] of Object.entries(fields)) {
      Object.defineProperty(object, name, { value, enumerable: /^\\d+$/.test(name), configurable: true });
    }
    return object;
  };
  const listOf = (prototype, items, nameOf) => give(Object.create(prototype), {
    ...items,
    length: items.length,
    item: (at) => items[at] ?? null,
    namedItem: (name) => items.find((item) => nameOf(item) === name) ?? null,
  });

  if (navigator.plugins.length === 0) {
    const viewers = ['PDF Viewer', 'Chrome PDF Viewer', 'Chromium PDF Viewer', 'Microsoft Edge PDF Viewer', 'WebKit built-in PDF'];
    const about = { description: 'Portable Document Format', suffixes: 'pdf' };
    const mimes = ['application/pdf', 'text/pdf'].map((type) => give(Object.create(MimeType.prototype), { type, ...about }));
    const plugins = viewers.map((name) => {
      const fields = { name, filename: 'internal-pdf-viewer', description: about.description, length: 2, ...mimes };
      return give(Object.create(Plugin.prototype), fields);
    });
    for (const mime of mimes) give(mime, { enabledPlugin: plugins[0] });
    const pluginList = listOf(PluginArray.prototype, plugins, ({ name }) => name);
    give(pluginList, { refresh: () => undefined });
    const mimeList = listOf(MimeTypeArray.prototype, mimes, ({ type }) => type);
    answer(Navigator.prototype, 'plugins', () => pluginList);
    answer(Navigator.prototype, 'mimeTypes', () => mimeList);
    answer(Navigator.prototype, 'pdfViewerEnabled', () => true);
  }

  if (window.chrome === undefined) {
    const startedAt = Date.now() / 1000;
    const app = {
      isInstalled: false,
      InstallState: { DISABLED: 'disabled', INSTALLED: 'installed', NOT_INSTALLED: 'not_installed' },
      RunningState: { CANNOT_RUN: 'cannot_run', READY_TO_RUN: 'ready_to_run', RUNNING: 'running' },
      getDetails: () => null,
      getIsInstalled: () => false,
    };
    const csi = () => ({ startE: Math.round(startedAt * 1000), onloadT: Date.now(), pageT: performance.now(), tran: 15 });
    const loadTimes = () => ({
      requestTime: startedAt, startLoadTime: startedAt, commitLoadTime: startedAt, finishDocumentLoadTime: 0, finishLoadTime: 0,
      firstPaintTime: 0, firstPaintAfterLoadTime: 0, navigationType: 'Other', wasFetchedViaSpdy: false, wasNpnNegotiated: false,
      npnNegotiatedProtocol: 'http/1.1', wasAlternateProtocolAvailable: false, connectionInfo: 'http/1.1',
    });
    const chrome = { app, csi, loadTimes };
    Object.defineProperty(window, 'chrome', { value: chrome, writable: true, enumerable: true, configurable: false });
  }

  // Headless denies what a person has not been asked for yet, and says so in one place only.
  if (window.isSecureContext && typeof Notification === 'function') {
    answer(Notification, 'permission', (real) => (real() === 'denied' ? 'default' : real()));
  }
  if (typeof NetworkInformation === 'function') {
    answer(NetworkInformation.prototype, 'rtt', (real) => real() || 50);
  }
  // A window has a frame around the page, except on a phone.
  if (navigator.maxTouchPoints === 0) {
    answer(window, 'outerHeight', (real) => (real() === window.innerHeight ? window.innerHeight + 85 : real()));
  }
  // The renderer of machines without a graphics card.
  for (const kind of ['WebGLRenderingContext', 'WebGL2RenderingContext']) {
    const prototype = window[kind]?.prototype;
    if (prototype === undefined) continue;
    prototype.getParameter = new Proxy(prototype.getParameter, {
      apply(target, self, args) {
        const real = Reflect.apply(target, self, args);
        if (args[0] === 0x9245 && /Google/.test(real)) return 'Google Inc. (Intel)';
        if (args[0] === 0x9246 && /SwiftShader/.test(real)) {
          return 'ANGLE (Intel, Mesa Intel(R) UHD Graphics 620 (KBL GT2), OpenGL 4.6)';
        }
        return real;
      },
    });
  }
})();`;
