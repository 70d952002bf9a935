// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/page_style.hpp"

namespace dtrain::metrics {

// Draws the steps and lines that the user selects from the page's data, smoothed if wanted, like chart.cpp.
const std::string_view page_script = R"js(
const points=new Map,draws=[],first=name=>document.querySelector(name),whole=first('.whole');
const one=first('#run'),data=element=>JSON.parse(element.textContent);
(one?[data(one)]:data(first('#runs')).map(({run})=>run)).forEach(({rows},i)=>{
 for(const {event,step,seconds,values} of rows)
  for(const [name,y] of Object.entries(values)){
   const source=(one?'':i+' ')+event+' '+name;
   if(!points.has(source))points.set(source,[]);
   points.get(source).push({x:step,step,seconds,y});
  }
});
let range=null,weight=0,axis='step';
const drawAll=()=>{for(const draw of draws)draw()};
const show=next=>{range=next;whole.hidden=!range;drawAll()};
// TensorBoard's: a moving average without its bias to 0 at the beginning. A start from an earlier step begins anew.
const smooth=all=>{
 let sum=0,count=0;
 all.forEach((point,i)=>{
  if(i&&point.step<all[i-1].step)sum=count=0;
  if(point.y===null)return;
  sum=sum*weight+(1-weight)*point.y;
  point.smooth=sum/(1-weight**++count);
 });
};
const extent=values=>{
 let low=Infinity,high=-Infinity;
 for(const value of values){low=Math.min(low,value);high=Math.max(high,value)}
 if(low>high)return [0,1];
 const around=low<high?0:Math.abs(low)*.1||1;
 return [low-around,high+around];
};
const roundNumbers=(low,high)=>{
 const rough=(high-low)/5,ten=10**Math.floor(Math.log10(rough)),all=[];
 const step=ten*([1,2,2.5,5].find(times=>times*ten>=rough)??10);
 for(let n=Math.ceil(low/step-1e-9);n*step<=high+step*1e-9;++n)all.push(n*step+0);
 return all;
};
const label=value=>value.toLocaleString('en',{maximumSignificantDigits:12,useGrouping:false,
 notation:Math.abs(value)>=1e4?'compact':value&&Math.abs(value)<1e-4?'scientific':'standard'}).replace('K','k').replace('E','e');
const number=y=>y===null?'-':Math.abs(y)<1000?String(Number(y.toPrecision(4))):Math.round(y).toLocaleString('en');
const textOf=({y,smooth})=>weight?`${number(smooth)} (${number(y)})`:number(y);
for(const box of document.querySelectorAll('.curve')){
 const part=name=>box.querySelector(name),svg=part('svg.chart'),cursor=part('.cursor'),band=part('.band'),reading=part('.reading');
 const [left,right,top,bottom]=svg.dataset.frame.split(' ').map(Number);
 const lines=[...box.querySelectorAll('.legend button')].map((key,i)=>{
  const value=key.querySelector('b'),sources=JSON.parse(key.dataset.sources);
  const all=sources.flatMap(source=>points.get(source)??[]);
  return {key,color:'c'+(key.dataset.run??i)%8,value,written:value.textContent,all,end:all.findLast(point=>point.y!==null)};
 });
 let shown,seen,low,high;
 const draw=()=>{
  for(const line of lines){
   smooth(line.all);
   line.value.textContent=line.last=weight&&line.end?textOf(line.end):line.written;
  }
  shown=lines.filter(line=>!line.key.classList.contains('off'));
  const all=shown.flatMap(line=>line.all).filter(point=>point.y!==null);
  [low,high]=range??extent(all.map(point=>point.x));
  for(const line of shown)line.seen=line.all.filter(point=>point.y!==null&&point.x>=low&&point.x<=high);
  seen=shown.flatMap(line=>line.seen);
  let [least,most]=extent((seen.length?seen:all).map(point=>point.y));
  const room=(most-least)*.06;
  [least,most]=[least>=0&&least<most-least?0:least-room,most+room];
  const atX=x=>(left+(x-low)/(high-low)*(right-left)).toFixed(1);
  const atY=y=>(bottom-(y-least)/(most-least)*(bottom-top)).toFixed(1);
  const texts=roundNumbers(low,high).map(x=>`<text x="${atX(x)}" y="${bottom+14}" text-anchor="middle">${label(x)}</text>`);
  const grid=roundNumbers(least,most).map(y=>`<line class="grid" x1="${left}" x2="${right}" y1="${atY(y)}" y2="${atY(y)}"/>
<text x="${left-5}" y="${atY(y)}" dy="3.5" text-anchor="end">${label(y)}</text>`);
  part('.name').textContent={step:'step',seconds:'time [s]'}[axis];
  part('.ticks').innerHTML=grid.concat(texts).join('');
  const path=({all,color,seen},height,kind)=>`<path class="line ${color}${seen.length>200&&!weight?' thin':''}${kind}" d="${all.map((point,i)=>
   point.y===null?'':(i&&all[i-1].y!==null&&all[i-1].step<=point.step?'L':'M')+atX(point.x)+' '+atY(height(point))).join('')}"/>`;
  const raw=weight?shown.map(line=>path(line,point=>point.y,' raw')):[];
  part('.lines').innerHTML=raw.concat(shown.map(line=>{
   const {color,seen}=line;
   const dots=seen.length>40?[]:seen.map(({x,smooth})=>`<circle class="${color}" cx="${atX(x)}" cy="${atY(smooth)}" r="2.2"/>`);
   return path(line,point=>point.smooth,'')+dots.join('');
  })).join('');
 };
 draws.push(draw);
 let from=null;
 const at=event=>{
  const frame=svg.getBoundingClientRect();
  return Math.max(left,Math.min(right,(event.clientX-frame.left)/frame.width*svg.viewBox.baseVal.width));
 };
 const stepAt=place=>low+(place-left)/(right-left)*(high-low);
 const read=event=>{
  const x=stepAt(at(event)),nearest=points=>points.reduce((best,point)=>Math.abs(point.x-x)<Math.abs(best.x-x)?point:best);
  if(!seen.length)return;
  const place=nearest(seen).x,there=left+(place-low)/(high-low)*(right-left);
  cursor.setAttribute('x1',there);cursor.setAttribute('x2',there);cursor.style.visibility='visible';
  reading.textContent=axis==='step'?'step '+number(place):number(place)+' s';
  for(const line of shown)if(line.seen.length)line.value.textContent=textOf(line.seen.findLast(point=>point.x===place)??nearest(line.seen));
 };
 const drop=()=>{from=null;band.setAttribute('width',0)};
 const hide=()=>{cursor.style.visibility='hidden';reading.textContent='';for(const {value,last} of lines)value.textContent=last};
 svg.onpointerdown=event=>{
  if(event.button!==0)return;
  from=at(event);
  svg.setPointerCapture(event.pointerId);
  read(event);
 };
 svg.onpointermove=event=>{
  read(event);
  if(from===null)return;
  band.setAttribute('x',Math.min(from,at(event)));
  band.setAttribute('width',Math.abs(at(event)-from));
 };
 svg.onpointerup=event=>{
  if(from===null)return;
  const [first,last]=[from,at(event)].map(stepAt).sort((one,other)=>one-other);
  drop();
  if(last-first>Math.max(axis==='step'?1:0,(high-low)/60)){hide();show([first,last])}
 };
 svg.onpointerleave=event=>{drop();if(event.pointerType!=='touch')hide()};
 svg.onpointercancel=drop;
 svg.ondblclick=()=>show(null);
}
for(const key of document.querySelectorAll('.legend button')){
 const {run}=key.dataset,same=run===undefined?[key]:document.querySelectorAll(`.legend [data-run="${run}"]`);
 key.disabled=false;
 key.ariaPressed=true;
 key.onclick=()=>{
  const off=!key.classList.contains('off');
  for(const each of same){each.classList.toggle('off',off);each.ariaPressed=!off}
  drawAll();
 };
}
if(whole){
 const slider=first('.smoothing'),choice=first('.axis-choice');
 const choose=()=>{
  weight=Number(slider.value);
  slider.nextElementSibling.textContent=slider.value;
  if(axis===choice.value)return drawAll();
  axis=choice.value;
  for(const all of points.values())for(const point of all)point.x=point[axis];
  show(null);
 };
 whole.onclick=()=>show(null);
 first('.hint').hidden=first('.controls').hidden=false;
 slider.oninput=choice.onchange=choose;
 choose();  // a browser may have kept what was chosen
}
)js";

}  // namespace dtrain::metrics
