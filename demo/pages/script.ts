/** The script in every page. Without it, a postback is only a form that the client has to send itself. */
export const SCRIPT = `
//<![CDATA[
var theForm = document.forms['frmMain'] || document.frmMain;
function __doPostBack(eventTarget, eventArgument) {
  if (!theForm.onsubmit || (theForm.onsubmit() != false)) {
    theForm.__EVENTTARGET.value = eventTarget;
    theForm.__EVENTARGUMENT.value = eventArgument;
    theForm.submit();
  }
}
function selectSearchRow(url) {
  var row = window.event ? window.event.srcElement : null;
  while (row && row.tagName != 'TR') { row = row.parentNode; }
  if (row) { row.className = row.className + ' selected'; }
  var link = row ? row.getElementsByTagName('a')[0] : null;
  if (link) { eval(decodeURIComponent(link.href.replace(/^javascript:/, ''))); }
  return false;
}
function clearSearch() {
  var fields = theForm.getElementsByTagName('input');
  for (var i = 0; i < fields.length; i++) {
    if (fields[i].type == 'text') { fields[i].value = ''; }
    if (fields[i].type == 'checkbox') { fields[i].checked = false; }
  }
  theForm.hdAction.value = '';
  return false;
}
function printPage() { if (window.print) { window.print(); } return false; }
function setTextSize(size) {
  document.body.style.fontSize = size + 'px';
  var expires = new Date(); expires.setTime(expires.getTime() + 30 * 24 * 60 * 60 * 1000);
  document.cookie = 'TEXTSIZE=' + size + '; expires=' + expires.toGMTString() + '; path=/';
}
(function () {
  var started = new Date().getTime(), timeout = 20 * 60 * 1000, warned = false;
  function tick() {
    var left = timeout - (new Date().getTime() - started);
    if (left < 60000 && !warned) { warned = true; var box = document.getElementById('sessionWarning'); if (box) { box.style.display = 'block'; } }
    if (left > 0) { window.setTimeout(tick, 15000); }
  }
  if (document.getElementById('sessionWarning')) { window.setTimeout(tick, 15000); }
  var match = /TEXTSIZE=(\\d+)/.exec(document.cookie);
  if (match) { document.body.style.fontSize = match[1] + 'px'; }
})();
//]]>
`;
