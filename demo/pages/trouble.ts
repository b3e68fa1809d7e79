import { escapeHtml } from './html.ts';
import { renderPage } from './layout.ts';

/** Pages that no visitor came for. */

export function notFoundPage(): Buffer {
  return renderPage({
    title: 'Page Not Found',
    crumb: 'Error',
    main: '<h2>Page Not Found</h2>\n<p>The resource you are looking for has been removed or is temporarily unavailable.</p>',
  });
}

/** As ASP.NET shows what its pages threw. */
export function serverErrorPage(message: string): Buffer {
  return Buffer.from(`<!DOCTYPE html>
<html><head><title>${escapeHtml(message.slice(0, 100))}</title>
<style>body {font-family:"Verdana";font-size:.7em;color:black;} H1 {font-size:18pt;color:red} H2 {font-size:14pt;color:maroon}</style></head>
<body bgcolor="white"><span><h1>Server Error in '/' Application.</h1><hr width="100%" size="1" color="silver">
<h2><i>${escapeHtml(message)}</i></h2></span>
<b>Description: </b>An unhandled exception occurred during the execution of the current web request.<br>
<hr width="100%" size="1" color="silver"><b>Version Information:</b>&nbsp;Microsoft .NET Framework Version:4.0.30319; ASP.NET Version:4.8.4700.0
</body></html>
`);
}

export function maintenancePage(): Buffer {
  return renderPage({
    title: 'Site Maintenance',
    crumb: 'Maintenance',
    main: '<h2>Site Maintenance</h2>\n<p>We are currently conducting maintenance. Please check back later. We apologize for any inconvenience.</p>',
  });
}

export function tooManyRequestsPage(): Buffer {
  return Buffer.from(
    '<html><head><title>429 Too Many Requests</title></head><body><center><h1>429 Too Many Requests</h1></center></body></html>\n',
  );
}

/** Cloudflare's question whether there is a browser. */
export function challengePage(ray: string): Buffer {
  return Buffer.from(`<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title><meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
<meta name="robots" content="noindex,nofollow"><meta http-equiv="refresh" content="360"></head>
<body><div class="main-wrapper" role="main"><div class="main-content"><noscript><div class="h2"><span id="challenge-error-text">Enable JavaScript and cookies to continue</span></div></noscript></div></div>
<script>(function(){window._cf_chl_opt={cvId:'3',cZone:'demo-county.test',cType:'managed',cRay:'${ray}',cH:'',cUPMDTk:'/'};
var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1?ray=${ray}';document.getElementsByTagName('head')[0].appendChild(a);}());</script>
</body></html>
`);
}

/** Imperva's refusal, which comes with status 200. */
export function blockPage(incident: string): Buffer {
  return Buffer.from(`<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"><meta name="format-detection" content="telephone=no">
<meta name="viewport" content="initial-scale=1.0"><meta http-equiv="X-UA-Compatible" content="IE=edge,chrome=1"></head>
<body style="margin:0px;height:100%"><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&amp;xinfo=9-${incident}-0%20NNNN%20RT&amp;incident_id=${incident}&amp;edet=15&amp;cinfo=04000000" frameborder=0 width="100%" height="100%" marginheight="0px" marginwidth="0px">Request unsuccessful. Incapsula incident ID: ${incident}</iframe></body></html>
`);
}

/** The same page after a redesign: what was found by an id or a field's name is not found any more. */
export function renamed(page: Buffer): Buffer {
  const text = page
    .toString()
    .replaceAll(/\bid="([^"]*)"/g, 'id="v2-$1"')
    .replaceAll('name="inp', 'name="v2-inp')
    .replaceAll('class="SearchResults"', 'class="v2-row"');
  return Buffer.from(text);
}
