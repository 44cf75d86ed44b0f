/* page_style: what the page of `serve` needs besides the reports' own style (reports/html_style.h),
 * whose colours it uses. */
#ifndef NMTWATCH_SERVE_PAGE_STYLE_H
#define NMTWATCH_SERVE_PAGE_STYLE_H

/* clang-format off */
#define PAGE_STYLE \
"main{max-width:1240px}\n" \
"header{margin-bottom:24px}header h1{margin:.2rem 0}\n" \
"header nav{margin-top:8px;font-size:.9rem}nav a{margin-right:1.2em}\n" \
"a{color:var(--blue)}\n" \
".dot{display:inline-block;width:.7em;height:.7em;border-radius:50%;background:var(--accent);" \
"margin-right:.55em}\n" \
".quiet{--accent:var(--soft)}\n" \
"td.who{min-width:11em}td.who small,td small{display:block;color:var(--soft);font-size:.8rem;" \
"overflow-wrap:anywhere}\n" \
".spark{display:block;width:110px;height:26px;overflow:visible}\n" \
".spark polyline{fill:none;stroke:var(--blue);stroke-width:1.6;stroke-linejoin:round;" \
"vector-effect:non-scaling-stroke}\n" \
".spark.grows polyline{stroke:var(--alert)}\n" \
"td.fig{white-space:nowrap;font-variant-numeric:tabular-nums}\n" \
".grows-word{color:var(--alert);font-weight:600}\n" \
"details{border-bottom:1px solid var(--line)}details summary{margin:.5rem 0;font-weight:500}\n" \
"details dl{display:grid;grid-template-columns:10em 1fr;gap:4px 14px;margin:0 0 14px;" \
"font-size:.92rem}\n" \
".none{color:var(--soft)}\n"
/* clang-format on */

#endif
