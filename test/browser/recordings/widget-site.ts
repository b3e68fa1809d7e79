import type { TestContext } from 'node:test';
import { openSite, type Reply } from '../../scraping/http-support.ts';

const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(2000, 0xfe), Buffer.from('\n%%EOF\n')]);
const PDF_REPLY: Reply = { headers: { 'content-type': 'application/pdf' }, body: PDF };

const HOME = `<!doctype html><title>Widgets</title>
<h1>Widgets</h1>
<form id=search action=/echo method=post>
  <label for=name>Parcel number</label><input id=name name=name value="old">
  <label>Notes <textarea name=notes>first</textarea></label>
  <select id=county name=county><option value=a>Alpha</option><option value=b>Beta</option><option value=c>Gamma</option></select>
  <input type=checkbox id=paid name=paid value=yes><label for=paid>Paid</label>
  <input type=checkbox id=sent name=sent value=yes checked>
  <input type=radio name=size id=small value=s checked><input type=radio name=size id=large value=l>
  <input type=hidden name=action id=action value="">
  <button id=go data-testid=go type=submit onclick="this.form.action.value='Search'">Search now</button>
  <input type=reset id=reset value="Start again">
</form>
<form id=upload action=/files method=post enctype="multipart/form-data"><input type=file id=file name=file style="opacity:0"><button id=send>Send</button></form>
<p><a id=second href="/second?from=home">Second page</a> <a id=window href="/second?from=window" target=_blank>In a window</a>
<a id=bill href="/bill.pdf">Bill</a> <a id=nowhere href="#top">Top</a></p>
<p id=hidden style="display:none">secret</p>
<table id=taxes><thead><tr><th>Year</th><th>Tax</th><th>Due</th></tr></thead><tbody>
<tr><td>2024</td><td>$1,200.50</td><td>1/31/2025</td></tr><tr><td>2025</td><td>$1,300.00</td><td></td></tr></tbody></table>
<ul id=owners><li data-id=7><b>ANN</b> <i>60 %</i></li><li data-id=8><b>BOB</b> <i>40 %</i></li></ul>
<div id=lines>1 Main St<br>Springfield</div><p id=empty></p>
<script type="application/json" id=state>{"parcel": {"apn": "101", "owners": ["ANN", "BOB"]}}</script>
<iframe id=inner src="/inner" width=300 height=100></iframe>`;

/** What only a script can do. */
const SCRIPTED = `<!doctype html><title>Scripted</title><p id=log></p><p id=later></p>
<div id=host></div><div id=over>over</div><div id=from draggable=true>drag</div><div id=onto>drop</div>
<button id=ask>ask</button><button id=pop>pop</button><button id=twice>twice</button><button id=fetch>fetch</button><button id=save>save</button>
<input id=keys><div id=box style="width:50px;height:50px;overflow:auto"><div style="height:500px">tall</div></div><div style="height:3000px"></div>
<script>
const log = (text) => { document.getElementById('log').textContent += text + ';'; };
const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
document.getElementById('over').addEventListener('mouseover', () => log('hovered'), { once: true });
on('twice', 'dblclick', () => log('twice'));
on('ask', 'click', () => log(confirm('sure?') ? 'yes ' + prompt('name?') : 'no'));
on('pop', 'click', () => window.open('/second?from=script'));
on('keys', 'keydown', (event) => log('key ' + event.key));
on('box', 'scroll', () => log('box'));
addEventListener('scroll', () => { if (!window.scrolled) { window.scrolled = true; log('page'); } });
on('from', 'dragstart', (event) => event.dataTransfer.setData('text', 'x'));
on('onto', 'dragover', (event) => event.preventDefault());
on('onto', 'drop', () => log('dropped'));
on('fetch', 'click', async () => { const { total } = await (await fetch('/api/total?apn=1')).json(); log('total ' + total); });
on('save', 'click', () => { const a = document.createElement('a'); a.download = 'made.pdf';
  a.href = URL.createObjectURL(new Blob(['%PDF-1.7 made'], { type: 'application/pdf' })); a.click(); });
document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML =
  '<section id=deep><button id=inside>Inside</button><span class=shadow>in the shadow</span></section>';
document.getElementById('host').shadowRoot.getElementById('inside').onclick = () => log('inside');
setTimeout(() => { document.getElementById('later').textContent = 'loaded'; window.isReady = true; }, 150);
</script>`;

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** A page with everything that a recording can work on, and pages that say what they were sent. */
export function openWidgets(t: TestContext) {
  return openSite(t, ({ path, method, query, form, body }) => {
    switch (path) {
      case '/':
        return HOME;
      case '/scripted':
        return SCRIPTED;
      case '/inner':
        return `<title>Inner</title><p class=word>inside the frame</p><p class=sent>${escaped(query.get('q') ?? '')}</p><form action=/inner><input id=q name=q><button id=ok>OK</button></form>`;
      case '/second':
        return `<!doctype html><title>Second</title><h1>Second page</h1><p id=from>${escaped(query.get('from') ?? '')}</p><a id=next href="/pages?n=1">pages</a>`;
      case '/pages': {
        const n = Number(query.get('n'));
        const next = n < 3 ? `<a id=next href="/pages?n=${n + 1}">next</a>` : '<p id=end>end</p>';
        return `<title>Page ${n}</title><p class=row>row ${n}</p>${next}`;
      }
      case '/echo':
        return `<!doctype html><title>Echo</title><p id=method>${method}</p>${[...form].map(([name, value]) => `<p id="got-${name}">${escaped(value)}</p>`).join('')}`;
      case '/files': {
        const name = /filename="([^"]*)"/.exec(body)?.[1] ?? '';
        const text = /\r\n\r\n([\s\S]*?)\r\n--/.exec(body)?.[1] ?? '';
        return `<title>Files</title><p id=file-name>${escaped(name)}</p><p id=file-text>${escaped(text.slice(0, 200))}</p>`;
      }
      case '/bill.pdf':
        return PDF_REPLY;
      case '/api/total':
        return { headers: { 'content-type': 'application/json' }, body: '{"total": 42}' };
      case '/none':
        return '<!doctype html><title>Results</title><p>No records found.</p>';
      default:
        return { status: 404, body: 'nothing' };
    }
  });
}
