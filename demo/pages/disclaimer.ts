import { escapeHtml } from './html.ts';
import { renderPage } from './layout.ts';

export function disclaimerPage(fromUrl: string, hiddenFields: string): Buffer {
  return renderPage({
    title: 'Disclaimer',
    crumb: 'Disclaimer',
    main: `<form method="post" action="./Disclaimer.aspx?FromUrl=${encodeURIComponent(fromUrl)}" id="frmMain" name="frmMain">
<div class="aspNetHidden">
${hiddenFields}
</div>
<h2>Disclaimer</h2>
<p>Alma County makes every effort to produce and publish the most current and accurate information possible. No warranties, expressed or implied, are
provided for the data herein, its use, or its interpretation.</p>
<p>By using this site you agree that you have read this statement, and that you will not use the data for any purpose that the law forbids.</p>
<input type="hidden" name="hdURL" id="hdURL" value="${escapeHtml(fromUrl)}" />
<button type="submit" class="button" name="btAgree" id="btAgree" value="">Agree</button>
<button type="submit" class="button" name="btDisagree" id="btDisagree" value="">Disagree</button>
</form>`,
  });
}
