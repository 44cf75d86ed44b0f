(function(){'use strict';
var svg=document.getElementById('flame'),now=document.getElementById('now');
var frames=[].slice.call(svg.querySelectorAll('.f')).map(function(e){
 return{e:e,x:+e.getAttribute('data-x'),w:+e.getAttribute('data-w'),y:+e.getAttribute('y'),
  title:e.querySelector('title').textContent}});
var by=new Map();frames.forEach(function(f){by.set(f.e,f)});
var find=document.getElementById('find'),found=document.getElementById('found');
var reset=document.getElementById('reset'),flip=document.getElementById('flip');
var zoomed=frames[0],upwards=false,replacing=false;
document.getElementById('bar').hidden=false;
function name(f){return f.title.slice(0,f.title.lastIndexOf('\n'))}
function label(f,share){
 var t=f.e.querySelector('text');
 if(share<0.8){if(t)t.style.display='none';return}
 if(!t){t=document.createElementNS('http://www.w3.org/2000/svg','text');
  t.setAttribute('x',3);t.setAttribute('y',12);t.textContent=name(f);f.e.appendChild(t)}
 t.style.display=''}
function zoom(to){
 var end=to.x+to.w,tiny=1e-6;
 frames.forEach(function(f){
  var x=f.x,w=f.w,above=f.y<to.y&&f.x<=to.x+tiny&&f.x+f.w>=end-tiny;
  if(above){x=to.x;w=to.w}
  var seen=above||f.x>=to.x-tiny&&f.x+f.w<=end+tiny&&f.y>=to.y;
  f.e.style.display=seen?'':'none';if(!seen)return;
  f.e.style.opacity=above?.55:1;
  x=(x-to.x)/to.w*100;w=w/to.w*100;
  f.e.setAttribute('x',x+'%');f.e.setAttribute('width',w+'%');label(f,w)});
 reset.disabled=to===frames[0];zoomed=to;keep()}
function keep(){
 var parts=[];
 if(zoomed!==frames[0])parts.push('zoom='+frames.indexOf(zoomed));
 if(find.value!=='')parts.push('search='+encodeURIComponent(find.value));
 if(upwards)parts.push('upwards');
 var hash=parts.length?'#'+parts.join('&'):'';
 if(hash!==location.hash)history[replacing?'replaceState':'pushState'](null,'',hash||location.pathname+location.search)}
function restore(){
 var to=frames[0],text='',up=false;replacing=true;
 location.hash.slice(1).split('&').forEach(function(part){
  var at=part.indexOf('='),value=part.slice(at+1);
  if(part.slice(0,at)==='zoom')to=frames[+value]||to;
  if(part.slice(0,at)==='search')try{text=decodeURIComponent(value)}catch(e){text=value}
  if(part==='upwards')up=true});
 find.value=text;turn(up);search();zoom(to);replacing=false}
function turn(up){
 var high=+svg.getAttribute('height');upwards=up;
 frames.forEach(function(f){f.e.setAttribute('y',up?high-f.y-18:f.y)});
 flip.textContent=up?'Callers above':'Callers below'}
function move(f,key){
 var best=null,middle=f.x+f.w/2,tiny=1e-6;
 if(upwards&&key==='ArrowUp')key='ArrowDown';else if(upwards&&key==='ArrowDown')key='ArrowUp';
 frames.forEach(function(g){
  if(g.e.style.display==='none'||g===f)return;
  var up=key==='ArrowUp'&&g.y===f.y-18&&g.x<=middle&&g.x+g.w>=middle;
  var down=key==='ArrowDown'&&g.y===f.y+18&&g.x>=f.x-tiny&&g.x+g.w<=f.x+f.w+tiny&&(!best||g.w>best.w);
  var left=key==='ArrowLeft'&&g.y===f.y&&g.x<f.x&&(!best||g.x>best.x);
  var right=key==='ArrowRight'&&g.y===f.y&&g.x>f.x&&(!best||g.x<best.x);
  if(up||down||left||right)best=g});
 if(best)best.e.focus();return best!==null}
function search(){
 var text=find.value.toLowerCase(),until=-1,sum=0,count=0;
 frames.forEach(function(f){
  var hit=text!==''&&name(f).toLowerCase().indexOf(text)>=0;
  f.e.classList.toggle('hit',hit);
  count+=hit;
  if(hit&&f.x>=until-1e-6){sum+=f.w;until=f.x+f.w}});
 found.textContent=text===''?'':count+(count===1?' frame, ':' frames, ')+sum.toFixed(2)+' % of the samples'}
svg.addEventListener('click',function(e){var f=by.get(e.target.closest('.f'));if(f)zoom(f)});
svg.addEventListener('keydown',function(e){
 var f=by.get(e.target.closest('.f'));if(!f)return;
 if(e.key==='Enter')zoom(f);else if(/^Arrow/.test(e.key)&&move(f,e.key))e.preventDefault()});
function tell(e){var f=by.get(e.target.closest('.f'));if(f)now.textContent=f.title.replace('\n','  ')}
svg.addEventListener('mouseover',tell);svg.addEventListener('focusin',tell);
reset.addEventListener('click',function(){zoom(frames[0])});
flip.addEventListener('click',function(){turn(!upwards);keep()});
find.addEventListener('input',function(){replacing=true;search();keep();replacing=false});
window.addEventListener('popstate',restore);window.addEventListener('hashchange',restore);
document.addEventListener('keydown',function(e){if(e.key==='Escape'){find.value='';search();zoom(frames[0])}});
restore();
})();
