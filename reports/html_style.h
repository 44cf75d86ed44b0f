/*
 * html_style: the style sheet of the page, kept out of the way of the code that writes it.
 *
 * Colours are variables, once for light and once for dark. The rules on svg give gnuplot's fixed
 * ink, axes and grid the page's colours; their values are those of reports/chart.c as gnuplot
 * prints them.
 */
#ifndef REPORTS_HTML_STYLE_H
#define REPORTS_HTML_STYLE_H

/* clang-format off */
#define HTML_STYLE \
":root{--bg:#fff;--card:#f6f7f9;--ink:#1b1f24;--soft:#59636e;--line:#d9dee4;--grid:#ddd;" \
"--ok:#1a7f4b;--warning:#a15c00;--critical:#b00020;--unknown:#59636e;--alert:#b00020;--blue:#0072b2;" \
"--violet:#7b5ea7;--sky:#56b4e9}\n" \
"@media (prefers-color-scheme:dark){:root{--bg:#14171b;--card:#1d2126;--ink:#e4e7eb;--soft:#9aa4af;" \
"--line:#353b43;--grid:#30353c;--ok:#4cc38a;--warning:#f0a840;--critical:#ff6b7a;--unknown:#9aa4af;" \
"--alert:#ff6b7a;--blue:#5aa2f5;--violet:#a58ad6;--sky:#a8e0f5}}\n" \
"*{box-sizing:border-box}\n" \
"body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI'," \
"Roboto,'DejaVu Sans',sans-serif}\n" \
"main{max-width:1040px;margin:0 auto;padding:24px 20px 48px}\n" \
"h1{font-size:1.35rem;line-height:1.4;margin:.4rem 0 .6rem;font-weight:600;overflow-wrap:anywhere}\n" \
"h2{font-size:1.15rem;margin:2.4rem 0 .8rem}\n" \
"h3{font-size:1rem;margin:0;overflow-wrap:anywhere}\n" \
"p{margin:.5rem 0}\n" \
"code,.name,.notes time{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.88em}\n" \
".name{overflow-wrap:anywhere}\n" \
"header{background:var(--card);border-left:6px solid var(--accent);border-radius:6px;padding:18px 22px}\n" \
".ok{--accent:var(--ok)}.warning{--accent:var(--warning)}.critical{--accent:var(--critical)}" \
".unknown{--accent:var(--unknown)}\n" \
".badge{margin:0;color:var(--accent);font-weight:700;font-size:.85rem;letter-spacing:.06em;" \
"text-transform:uppercase}\n" \
".who,.when,figcaption,footer{color:var(--soft);font-size:.9rem;overflow-wrap:anywhere}\n" \
".who{margin:0}\n" \
"dl{margin:0}dt{color:var(--soft);font-size:.82rem}dd{margin:0;overflow-wrap:anywhere}\n" \
".facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(220px,1fr));gap:12px 24px;" \
"margin-top:20px}\n" \
".damage{border:1px solid var(--warning);border-radius:6px;padding:10px 14px}\n" \
".alert{border:1px solid var(--line);border-left:4px solid var(--accent);border-radius:6px;" \
"padding:14px 18px;margin:12px 0;break-inside:avoid}\n" \
".alert .num{color:var(--accent)}\n" \
".alert .when{margin:.2rem 0 .5rem}\n" \
".evidence{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px 20px;" \
"font-size:.9rem}\n" \
".num{font-weight:700}\n" \
".timeline{margin:0 0 18px}\n" \
".lane{display:flex;align-items:center;gap:10px;height:22px}\n" \
".lane .num{flex:0 0 1.6em;text-align:right;font-size:.85rem}\n" \
".track{position:relative;flex:1;height:10px;background:var(--card);border-radius:5px}\n" \
".bar{position:absolute;top:0;bottom:0;background:var(--accent);opacity:.55;border-radius:5px;" \
"min-width:4px}\n" \
".tick{position:absolute;top:-3px;bottom:-3px;width:2px;margin-left:-1px;background:var(--ink)}\n" \
".scale{justify-content:space-between;color:var(--soft);font-size:.8rem}\n" \
".scale .num{flex:0 0 1.6em}.scale span:nth-child(2){margin-right:auto}\n" \
".scale span:last-child{margin-left:auto}\n" \
".scroll{overflow-x:auto}\n" \
"table{border-collapse:collapse;width:100%;font-size:.92rem}\n" \
"th{text-align:left;color:var(--soft);font-weight:600;font-size:.82rem;vertical-align:bottom}\n" \
"th,td{padding:7px 12px 7px 0;border-bottom:1px solid var(--line);vertical-align:top}\n" \
".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n" \
"tr.head td{border-bottom:0}tr.detail td{padding-top:0;padding-bottom:14px}\n" \
"tr.detail dl>div{display:grid;grid-template-columns:8.5em 1fr;gap:8px}\n" \
"figure{margin:0 0 28px;break-inside:avoid}\n" \
"figure svg{display:block;width:100%;min-width:680px;height:auto}\n" \
"figcaption{margin-top:4px}\n" \
"svg g[fill=\"black\"]{fill:var(--ink)}\n" \
"svg g[fill=\"rgb(85,85,85)\"],svg g[fill=\"rgb(136,136,136)\"]{fill:var(--soft)}\n" \
"svg g[fill=\"rgb(176,0,32)\"]{fill:var(--alert)}\n" \
"svg path[stroke=\"rgb( 85,  85,  85)\"],svg path[stroke=\"rgb(170, 170, 170)\"]{stroke:var(--soft)}\n" \
"svg path[stroke=\"rgb(221, 221, 221)\"]{stroke:var(--grid)}\n" \
"svg path[stroke=\"rgb(176,   0,  32)\"]{stroke:var(--alert)}\n" \
"svg path[stroke=\"rgb(  0, 114, 178)\"]{stroke:var(--blue)}\n" \
"svg path[stroke=\"rgb( 86, 180, 233)\"]{stroke:var(--sky)}\n" \
"svg path[stroke=\"rgb(123,  94, 167)\"]{stroke:var(--violet)}\n" \
"svg>g>rect{fill:none}\n" \
"summary{cursor:pointer;font-weight:600;margin:2rem 0 .6rem}\n" \
".notes{padding-left:0;list-style:none}.notes li{margin:.3rem 0;overflow-wrap:anywhere}\n" \
".notes time{color:var(--soft);margin-right:.6em}\n" \
"footer{margin-top:40px;border-top:1px solid var(--line);padding-top:12px}\n" \
"@media (max-width:600px){main{padding:12px 12px 32px}h1{font-size:1.1rem}" \
"tr.detail dl>div{grid-template-columns:1fr;gap:0;margin-bottom:6px}}\n" \
"@media print{:root{--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--grid:#ddd}" \
"main{max-width:none;padding:0}figure svg{min-width:0}.scroll{overflow:visible}" \
"header{border:1px solid var(--line);border-left:6px solid var(--accent)}}\n"
/* clang-format on */

#endif
