/*
 * flamegraph_page: the style and the script of the flame graph's page, kept out of the way of the
 * code that writes it.
 *
 * A frame is an svg of its own, so that its text is cut where it ends, whose x and width are
 * percentages. Zooming computes both again; data-x and data-w keep what they were.
 */
#ifndef REPORTS_FLAMEGRAPH_PAGE_H
#define REPORTS_FLAMEGRAPH_PAGE_H

/* clang-format off */
#define FLAMEGRAPH_STYLE \
":root{--bg:#fff;--ink:#1b1f24;--soft:#59636e;--line:#c8ced6}\n" \
"@media (prefers-color-scheme:dark){:root{--bg:#14171b;--ink:#e4e7eb;--soft:#9aa4af;--line:#353b43}}\n" \
"body{margin:0;padding:16px 20px 40px;background:var(--bg);color:var(--ink);" \
"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n" \
"h1{font-size:1.2rem;margin:0 0 .2rem;overflow-wrap:anywhere}\n" \
"p{margin:.2rem 0;color:var(--soft)}\n" \
"#bar{display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;margin:.7rem 0}\n" \
"#bar[hidden]{display:none}\n" \
"input,button{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--line);" \
"border-radius:5px;padding:3px 9px}\n" \
"input{width:min(30em,80vw)}\n" \
"button:disabled{opacity:.5}\n" \
".key{display:inline-block;width:12px;height:12px;margin:0 5px 0 12px;vertical-align:-1px}\n" \
"#now{min-height:1.5em;font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.85rem;" \
"overflow-wrap:anywhere}\n" \
".f{cursor:pointer}\n" \
".f rect{stroke:var(--bg);stroke-width:.6}\n" \
".f text{font:11px ui-monospace,'DejaVu Sans Mono',monospace;fill:#14171b;pointer-events:none}\n" \
".f:hover rect,.f:focus rect{stroke:#14171b;stroke-width:1.5}\n" \
".f:focus{outline:none}\n" \
".a{fill:#b9c0c8}.j0{fill:#7fc97f}.j1{fill:#93d28f}.j2{fill:#6dbf74}" \
".n0{fill:#f2b56b}.n1{fill:#f5c383}.n2{fill:#eda857}" \
".c0{fill:#8cb4e8}.c1{fill:#a0c2ee}.c2{fill:#7aa7e0}\n" \
".hit rect{fill:#e05bd6}\n" \
"span.j0{background:#7fc97f}span.n0{background:#f2b56b}span.c0{background:#8cb4e8}\n"

#define FLAMEGRAPH_SCRIPT \
"(function(){'use strict';\n" \
"var svg=document.getElementById('flame'),now=document.getElementById('now');\n" \
"var frames=[].slice.call(svg.querySelectorAll('.f')).map(function(e){\n" \
" return{e:e,x:+e.getAttribute('data-x'),w:+e.getAttribute('data-w'),y:+e.getAttribute('y'),\n" \
"  title:e.querySelector('title').textContent}});\n" \
"var by=new Map();frames.forEach(function(f){by.set(f.e,f)});\n" \
"var find=document.getElementById('find'),found=document.getElementById('found');\n" \
"var reset=document.getElementById('reset');\n" \
"document.getElementById('bar').hidden=false;\n" \
"function name(f){return f.title.slice(0,f.title.lastIndexOf('\\n'))}\n" \
"function label(f,share){\n" \
" var t=f.e.querySelector('text');\n" \
" if(share<0.8){if(t)t.style.display='none';return}\n" \
" if(!t){t=document.createElementNS('http://www.w3.org/2000/svg','text');\n" \
"  t.setAttribute('x',3);t.setAttribute('y',12);t.textContent=name(f);f.e.appendChild(t)}\n" \
" t.style.display=''}\n" \
"function zoom(to){\n" \
" var end=to.x+to.w,tiny=1e-6;\n" \
" frames.forEach(function(f){\n" \
"  var x=f.x,w=f.w,above=f.y<to.y&&f.x<=to.x+tiny&&f.x+f.w>=end-tiny;\n" \
"  if(above){x=to.x;w=to.w}\n" \
"  var seen=above||f.x>=to.x-tiny&&f.x+f.w<=end+tiny&&f.y>=to.y;\n" \
"  f.e.style.display=seen?'':'none';if(!seen)return;\n" \
"  f.e.style.opacity=above?.55:1;\n" \
"  x=(x-to.x)/to.w*100;w=w/to.w*100;\n" \
"  f.e.setAttribute('x',x+'%');f.e.setAttribute('width',w+'%');label(f,w)});\n" \
" reset.disabled=to===frames[0]}\n" \
"function search(){\n" \
" var text=find.value.toLowerCase(),until=-1,sum=0;\n" \
" frames.forEach(function(f){\n" \
"  var hit=text!==''&&name(f).toLowerCase().indexOf(text)>=0;\n" \
"  f.e.classList.toggle('hit',hit);\n" \
"  if(hit&&f.x>=until-1e-6){sum+=f.w;until=f.x+f.w}});\n" \
" found.textContent=text===''?'':'matched '+sum.toFixed(2)+' % of the samples'}\n" \
"svg.addEventListener('click',function(e){var f=by.get(e.target.closest('.f'));if(f)zoom(f)});\n" \
"svg.addEventListener('keydown',function(e){\n" \
" var f=by.get(e.target.closest('.f'));if(f&&e.key==='Enter')zoom(f)});\n" \
"function tell(e){var f=by.get(e.target.closest('.f'));if(f)now.textContent=f.title.replace('\\n','  ')}\n" \
"svg.addEventListener('mouseover',tell);svg.addEventListener('focusin',tell);\n" \
"reset.addEventListener('click',function(){zoom(frames[0])});\n" \
"find.addEventListener('input',search);\n" \
"document.addEventListener('keydown',function(e){if(e.key==='Escape'){find.value='';search();zoom(frames[0])}});\n" \
"})();\n"
/* clang-format on */

#endif
