/** The style sheet in every page, as vendors of county sites like it: all of it, whether used or not. */
export const STYLE = `
  html, body { margin: 0; padding: 0; background: #eef1f4; color: #222; font: 13px/1.45 Verdana, Arial, Helvetica, sans-serif; }
  a { color: #0b4f8a; text-decoration: none; } a:hover, a:focus { text-decoration: underline; }
  a.skip { position: absolute; left: -9999px; } a.skip:focus { left: 8px; top: 8px; background: #fff; padding: 4px 8px; }
  #pageWrapper { width: 1180px; max-width: 100%; margin: 0 auto; background: #fff; box-shadow: 0 0 6px rgba(0, 0, 0, .25); }
  #siteHeader { background: #1c3d5a url(/images/header-bg.png) repeat-x; color: #fff; padding: 14px 20px; overflow: hidden; }
  #siteHeader .seal { float: left; width: 64px; height: 64px; margin-right: 16px; border-radius: 50%; background: #b8860b; }
  #siteHeader h1 { font-size: 22px; margin: 8px 0 2px; font-weight: normal; letter-spacing: .5px; }
  #siteHeader .tagline { font-size: 11px; color: #cfe0ee; }
  #siteHeader .quick { float: right; text-align: right; font-size: 11px; } #siteHeader .quick a { color: #fff; margin-left: 10px; }
  #topNav { background: #2e6391; margin: 0; padding: 0; list-style: none; overflow: hidden; }
  #topNav > li { float: left; position: relative; } #topNav > li > a { display: block; padding: 9px 16px; color: #fff; font-weight: bold; }
  #topNav > li > a:hover { background: #1c3d5a; text-decoration: none; } #topNav ul { display: none; position: absolute; z-index: 50; }
  #topNav li:hover ul { display: block; background: #2e6391; margin: 0; padding: 0; list-style: none; min-width: 220px; }
  #topNav ul a { display: block; padding: 6px 14px; color: #fff; font-size: 12px; border-top: 1px solid #3f79ab; }
  #breadcrumb { padding: 6px 20px; font-size: 11px; color: #666; border-bottom: 1px solid #dde3e8; }
  #columns { overflow: hidden; padding: 12px 20px 24px; } #leftColumn { float: left; width: 210px; } #mainColumn { margin-left: 230px; }
  .sideBox { border: 1px solid #c9d3dc; margin-bottom: 12px; } .sideBox h4 { margin: 0; padding: 6px 10px; background: #dbe6ef; font-size: 12px; }
  .sideBox ul { margin: 0; padding: 6px 10px 8px 24px; } .sideBox li { padding: 2px 0; }
  .dataletHeader { background: #1c3d5a; color: #fff; padding: 8px 12px; overflow: hidden; } .dataletHeader td { padding: 2px 10px; color: #fff; }
  .dataletHeader .label { color: #cfe0ee; font-size: 11px; } .datalet_div { border: 1px solid #c9d3dc; margin: 12px 0; }
  .DataletTitle { background: #dbe6ef; font-weight: bold; padding: 5px 10px; } table.datalet { width: 100%; border-collapse: collapse; }
  td.DataletSideHeading { width: 210px; background: #f4f7f9; color: #444; padding: 4px 10px; border-bottom: 1px solid #e6ebef; vertical-align: top; }
  td.DataletData { padding: 4px 10px; border-bottom: 1px solid #e6ebef; } table.grid { width: 100%; border-collapse: collapse; }
  table.grid th { background: #2e6391; color: #fff; text-align: left; padding: 5px 8px; font-size: 11px; } table.grid td { padding: 4px 8px; }
  table.grid tr.gridviewRow td { border-bottom: 1px solid #e6ebef; } table.grid tr.gridviewAlt td { background: #f7f9fb; border-bottom: 1px solid #e6ebef; }
  table.grid td.number, table.grid th.number { text-align: right; white-space: nowrap; } table.grid tr.total td { font-weight: bold; background: #eef3f7; }
  .searchPanel { border: 1px solid #c9d3dc; padding: 14px; } .searchPanel label { display: inline-block; width: 150px; }
  .searchPanel input[type=text], .searchPanel select { width: 240px; padding: 3px; border: 1px solid #9fb1c1; margin: 3px 0; }
  .button { background: #2e6391; color: #fff; border: 0; padding: 6px 18px; cursor: pointer; } .button:hover { background: #1c3d5a; }
  .notice { background: #fff8e1; border: 1px solid #e5c76b; padding: 8px 12px; margin: 10px 0; } .error { color: #a40000; font-weight: bold; }
  tr.SearchResults { cursor: pointer; } tr.SearchResults:hover td { background: #fff8e1; } .pager { padding: 6px; text-align: right; font-size: 11px; }
  #siteFooter { background: #1c3d5a; color: #cfe0ee; font-size: 11px; padding: 14px 20px; overflow: hidden; } #siteFooter a { color: #fff; }
  #siteFooter .col { float: left; width: 25%; } #siteFooter ul { list-style: none; margin: 4px 0; padding: 0; } .clear { clear: both; }
  @media print { #topNav, #leftColumn, #siteFooter, .noPrint { display: none; } #mainColumn { margin: 0; } body { background: #fff; } }
  @media (max-width: 760px) { #leftColumn { float: none; width: auto; } #mainColumn { margin: 0; } #siteHeader .quick { float: none; } }
`;
