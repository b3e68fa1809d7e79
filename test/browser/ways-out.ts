import { sized } from '../support/sized.ts';
/**
 * Ways in which a page can make its browser ask for an address. Each is a page, with `url` in its own place: what has a
 * `<body>` is served as it is, everything else is a script that is run in an empty page.
 */
export interface WayOut {
  readonly name: string;
  readonly page: (url: string) => string;
  /** Headers that are sent with the page. */
  readonly headers?: (url: string) => Readonly<Record<string, string>>;
  /** Browsers do not do this, wherever it leads, or not without a person: it must do nothing, and is not waited for. */
  readonly isIdle?: true;
}

const text = (value: string) => JSON.stringify(value);
const attribute = (value: string) => value.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
const html = (markup: (url: string) => string) => (url: string) => `<body>${markup(attribute(url))}</body>`;
const socket = (url: string) => url.replace(/^http/i, 'ws');
const inWorker = (code: string) => `new Worker(URL.createObjectURL(new Blob([${text(code)}])))`;
/** The site redirects every request for this path. */
const sentOn = (status: number, url: string) => `/to/${status}/${encodeURIComponent(url)}`;
const inFrame = (code: string) =>
  `const f = document.createElement('iframe'); document.body.append(f); const w = f.contentWindow; ${code}`;
const element = (tag: string, name: string) => (url: string) =>
  `const e = document.createElement('${tag}'); e.${name} = ${text(url)}; document.body.append(e);`;
const submitted = (method: string, target: string) => (url: string) =>
  `document.body.innerHTML = '<iframe name=f></iframe><form target=${target} method=${method}><input name=a value=b></form>';
   const f = document.forms[0]; f.action = ${text(url)}; f.submit();`;
const link = (rel: string, more = '') => html((url) => `<link rel="${rel}" ${more} href="${url}"><p>${rel}</p>`);

export const WAYS_OUT: readonly WayOut[] = [
  { name: 'fetch', page: (url) => `fetch(${text(url)}).catch(() => 0)` },
  {
    name: 'fetch-no-cors',
    page: (url) => `fetch(${text(url)}, { mode: 'no-cors', credentials: 'include' }).catch(() => 0)`,
  },
  {
    name: 'fetch-post',
    page: (url) => `fetch(${text(url)}, { method: 'POST', mode: 'no-cors', body: 'a=b' }).catch(() => 0)`,
  },
  { name: 'fetch-preflight', page: (url) => `fetch(${text(url)}, { headers: { 'x-a': 'b' } }).catch(() => 0)` },
  {
    name: 'fetch-keepalive',
    page: (url) => `fetch(${text(url)}, { keepalive: true, mode: 'no-cors' }).catch(() => 0)`,
  },
  {
    name: 'fetch-local-network',
    page: (url) => `fetch(${text(url)}, { mode: 'no-cors', targetAddressSpace: 'loopback' }).catch(() => 0)`,
    isIdle: true,
  },
  {
    name: 'fetch-later',
    page: (url) => `window.fetchLater && fetchLater(${text(url)}, { activateAfter: 0 })`,
    isIdle: true,
  },
  { name: 'xhr', page: (url) => `const x = new XMLHttpRequest(); x.open('GET', ${text(url)}); x.send()` },
  { name: 'beacon', page: (url) => `navigator.sendBeacon(${text(url)}, 'x')` },
  { name: 'event-source', page: (url) => `new EventSource(${text(url)})` },
  { name: 'websocket', page: (url) => `new WebSocket(${text(socket(url))})` },
  { name: 'websocket-in-worker', page: (url) => inWorker(`new WebSocket(${text(socket(url))})`) },
  { name: 'image', page: (url) => `new Image().src = ${text(url)}` },
  { name: 'image-srcset', page: html((url) => `<img srcset="${url} 1x">`) },
  { name: 'image-in-picture', page: html((url) => `<picture><source srcset="${url}"><img></picture>`) },
  { name: 'image-input', page: html((url) => `<input type=image src="${url}">`) },
  { name: 'image-in-svg', page: html((url) => `<svg><image href="${url}" width=9 height=9 /></svg>`) },
  {
    name: 'filter-image-in-svg',
    page: html(
      (url) => `<svg><filter id=a><feImage href="${url}"/></filter><rect filter="url(#a)" width=9 height=9 /></svg>`,
    ),
  },
  { name: 'written', page: (url) => `document.write('<img src="' + ${text(url)} + '">')` },
  { name: 'video', page: element('video', 'src') },
  { name: 'video-poster', page: element('video', 'poster') },
  { name: 'audio', page: (url) => `new Audio(${text(url)}).load()` },
  {
    name: 'subtitles',
    page: html((url) => `<video crossorigin><track default kind=subtitles src="${url}"></video>`),
    isIdle: true,
  },
  { name: 'script', page: element('script', 'src') },
  { name: 'module', page: html((url) => `<script type=module src="${url}"></script>`) },
  { name: 'import', page: (url) => `import(${text(url)}).catch(() => 0)` },
  {
    name: 'audio-worklet',
    page: (url) => `new OfflineAudioContext(1, 1, 8000).audioWorklet?.addModule(${text(url)}).catch(() => 0)`,
    isIdle: true,
  },
  { name: 'style', page: link('stylesheet') },
  { name: 'style-import', page: html((url) => `<style>@import url("${url}");</style>`) },
  { name: 'style-background', page: html((url) => `<p style="background: url('${url}')">x</p>`) },
  {
    name: 'style-cursor',
    page: html(
      (url) => `<p style="cursor: url('${url}'), auto; list-style-image: url('${url}'); display: list-item">x</p>`,
    ),
  },
  {
    name: 'font',
    page: html(
      (url) => `<style>@font-face { font-family: f; src: url("${url}") } p { font-family: f }</style><p>x</p>`,
    ),
  },
  { name: 'frame', page: element('iframe', 'src') },
  {
    name: 'frameset',
    page: (url) => `<body><iframe srcdoc="<frameset><frame src='${attribute(url)}'></frameset>"></iframe></body>`,
  },
  { name: 'frame-in-document', page: (url) => `<body><iframe srcdoc="<img src='${attribute(url)}'>"></iframe></body>` },
  {
    name: 'frame-in-sandbox',
    page: html((url) => `<iframe sandbox="allow-scripts" srcdoc="<img src='${url}'>"></iframe>`),
  },
  {
    name: 'frame-of-data',
    page: html((url) => `<iframe src="data:text/html,<img src='${encodeURIComponent(url)}'>"></iframe>`),
  },
  { name: 'object', page: html((url) => `<object data="${url}" type="text/html"></object>`) },
  { name: 'embed', page: html((url) => `<embed src="${url}" type="text/html">`) },
  { name: 'location', page: (url) => inFrame(`w.location = ${text(url)}`) },
  {
    name: 'location-later',
    page: (url) => inFrame(`f.onload = () => { f.onload = null; w.location.replace(${text(url)}) }; f.src = '/page'`),
  },
  { name: 'location-script', page: (url) => inFrame(`f.src = 'javascript:location=' + JSON.stringify(${text(url)})`) },
  {
    name: 'refresh',
    page: (url) =>
      `<body><iframe srcdoc="<meta http-equiv=refresh content='0;url=${attribute(url)}'>"></iframe></body>`,
  },
  { name: 'refresh-header', page: (url) => inFrame(`f.src = '/refresh/' + encodeURIComponent(${text(url)})`) },
  {
    name: 'base',
    page: (url) => `<body><iframe srcdoc="<base href='${attribute(url)}'><img src='?base'>"></iframe></body>`,
  },
  { name: 'form-get', page: submitted('get', 'f') },
  { name: 'form-post', page: submitted('post', 'f') },
  { name: 'form-in-popup', page: submitted('post', '_blank') },
  { name: 'popup', page: (url) => `window.open(${text(url)})` },
  {
    name: 'popup-later',
    page: (url) => `const w = window.open('/page'); setTimeout(() => { w.location = ${text(url)} }, 100)`,
  },
  {
    name: 'popup-link',
    page: (url) =>
      `const a = document.createElement('a'); a.href = ${text(url)}; a.target = '_blank'; a.rel = 'noopener'; document.body.append(a); a.click()`,
  },
  {
    name: 'ping',
    page: (url) =>
      `const a = document.createElement('a'); a.href = '#'; a.ping = ${text(url)}; document.body.append(a); a.click()`,
    isIdle: true,
  },
  {
    name: 'download',
    page: (url) =>
      `const a = document.createElement('a'); a.href = ${text(url)}; a.download = 'x'; document.body.append(a); a.click()`,
  },
  ...[301, 302, 303, 307, 308].map((status) => ({
    name: `redirect-${status}`,
    page: (url: string) => `fetch(${text(sentOn(status, url))}, { method: 'POST', mode: 'no-cors' }).catch(() => 0)`,
  })),
  {
    name: 'redirect-twice',
    page: (url) =>
      `fetch(${text(sentOn(302, `http://site.test${sentOn(302, url)}`))}, { mode: 'no-cors' }).catch(() => 0)`,
  },
  { name: 'redirect-image', page: (url) => `new Image().src = ${text(sentOn(302, url))}` },
  { name: 'redirect-script', page: (url) => element('script', 'src')(sentOn(302, url)) },
  { name: 'redirect-frame', page: (url) => element('iframe', 'src')(sentOn(302, url)) },
  { name: 'redirect-popup', page: (url) => `window.open(${text(sentOn(302, url))})` },
  {
    name: 'redirect-websocket',
    page: (url) => `new WebSocket('ws://site.test' + ${text(sentOn(302, url))})`,
    isIdle: true,
  },
  {
    name: 'redirect-in-worker',
    page: (url) =>
      inWorker(`fetch('http://site.test' + ${text(sentOn(302, url))}, { mode: 'no-cors' }).catch(() => 0)`),
  },
  { name: 'prefetch', page: link('prefetch'), isIdle: true },
  { name: 'preload-image', page: link('preload', 'as=image') },
  { name: 'preload-script', page: link('preload', 'as=script') },
  { name: 'module-preload', page: link('modulepreload') },
  { name: 'preconnect', page: link('preconnect'), isIdle: true },
  { name: 'preconnect-anonymous', page: link('preconnect', 'crossorigin'), isIdle: true },
  { name: 'dns-prefetch', page: link('dns-prefetch'), isIdle: true },
  { name: 'next-page', page: link('next prerender'), isIdle: true },
  { name: 'icon', page: link('icon'), isIdle: true },
  { name: 'manifest', page: link('manifest'), isIdle: true },
  {
    name: 'header-preload',
    page: () => '<body>x</body>',
    headers: (url) => ({ link: `<${encodeURI(url)}>; rel=preload; as=image` }),
  },
  {
    name: 'header-preconnect',
    page: () => '<body>x</body>',
    headers: (url) => ({ link: `<${encodeURI(url)}>; rel=preconnect` }),
    isIdle: true,
  },
  {
    name: 'speculation-prefetch',
    page: html((url) => `<script type=speculationrules>{"prefetch":[{"urls":["${url}"]}]}</script>`),
    isIdle: true,
  },
  {
    name: 'speculation-prerender',
    page: html((url) => `<script type=speculationrules>{"prerender":[{"urls":["${url}"]}]}</script>`),
    isIdle: true,
  },
  { name: 'worker-fetch', page: (url) => inWorker(`fetch(${text(url)}, { mode: 'no-cors' }).catch(() => 0)`) },
  {
    name: 'worker-xhr',
    page: (url) => inWorker(`const x = new XMLHttpRequest(); x.open('GET', ${text(url)}); x.send()`),
  },
  { name: 'worker-import', page: (url) => inWorker(`try { importScripts(${text(url)}) } catch {}`) },
  { name: 'worker-event-source', page: (url) => inWorker(`new EventSource(${text(url)})`) },
  { name: 'shared-worker', page: (url) => `new SharedWorker('/shared-worker?' + encodeURIComponent(${text(url)}))` },
  {
    name: 'service-worker',
    page: (url) => `navigator.serviceWorker?.register('/service-worker?' + encodeURIComponent(${text(url)}))`,
    isIdle: true,
  },
  {
    name: 'policy-report',
    page: () => '<body><img src="data:image/gif;base64,AAAA"></body>',
    headers: (url) => ({ 'content-security-policy': `img-src 'none'; report-uri ${encodeURI(url)}` }),
  },
  {
    name: 'network-report',
    page: () => '<body><img src="/missing"></body>',
    headers: (url) => ({
      'report-to': `{"group":"a","max_age":9,"endpoints":[{"url":${text(url)}}]}`,
      nel: '{"report_to":"a","max_age":9,"failure_fraction":1,"success_fraction":1}',
    }),
    isIdle: true,
  },
  {
    name: 'transformed',
    page: (url) => `<body><iframe src="/transformed/${encodeURIComponent(url)}"></iframe></body>`,
    isIdle: true,
  },
  {
    name: 'web-transport',
    page: (url) => `window.WebTransport && new WebTransport(${text(url.replace('http:', 'https:'))})`,
    isIdle: true,
  },
  ...['stun:HOST:80', 'turn:HOST:80?transport=udp', 'turn:HOST:80?transport=tcp', 'turns:HOST:80?transport=tcp'].map(
    (server) => ({
      name: `rtc-${server.replaceAll(/[^a-z]+/g, '-')}`,
      page: (url: string) => {
        const { hostname } = new URL(url);
        const urls = server.replace('HOST', hostname);
        return `const c = new RTCPeerConnection({ iceServers: [{ urls: ${text(urls)}, username: 'u', credential: 'p' }] });
        c.createDataChannel('x'); c.createOffer().then((o) => c.setLocalDescription(o));`;
      },
      isIdle: true as const,
    }),
  ),
  {
    name: 'rtc-candidate',
    page: (url) => {
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
      const candidates = ['udp', 'tcp'].map(
        (kind) => `candidate:1 1 ${kind} 2122260223 ${host} 80 typ host${kind === 'tcp' ? ' tcptype passive' : ''}`,
      );
      return `(async () => { const [a, b] = [new RTCPeerConnection(), new RTCPeerConnection()]; a.createDataChannel('x');
        await a.setLocalDescription(await a.createOffer()); await b.setRemoteDescription(a.localDescription);
        await b.setLocalDescription(await b.createAnswer()); await a.setRemoteDescription(b.localDescription);
        for (const candidate of ${text('').replace('""', JSON.stringify(candidates))}) await a.addIceCandidate({ candidate, sdpMid: '0' }).catch(() => 0); })()`;
    },
    isIdle: true,
  },
];

/** Positions of the ways that are tried: half of them, or all. */
export const TRIED: readonly number[] = [...WAYS_OUT.keys()].filter((at) => at % sized({ quick: 2, slow: 1 }) === 0);

/** Those of them that are tried once more with everything allowed, to prove that they lead somewhere. */
export const PROVEN: readonly number[] = TRIED.filter((_, at) => at % sized({ quick: 4, slow: 1 }) === 0);
