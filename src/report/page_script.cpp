// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "report/page_style.hpp"

namespace dtrain::report {

// Draws the steps and lines that the user selects from the page's data, like chart.cpp.
const std::string_view page_script = R"js(
const points=new Map,draws=[],whole=document.querySelector('.whole');
for(const row of JSON.parse(document.getElementById('run').textContent).rows)
 for(const [name,y] of Object.entries(row.values)){
  const source=row.event+' '+name;
  if(!points.has(source))points.set(source,[]);
  points.get(source).push({x:row.step,y});
 }
let range=null;
const show=next=>{range=next;whole.hidden=!range;for(const draw of draws)draw()};
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
for(const box of document.querySelectorAll('.curve')){
 const part=name=>box.querySelector(name),svg=part('svg.chart'),cursor=part('.cursor'),band=part('.band'),reading=part('.reading');
 const [left,right,top,bottom]=svg.dataset.frame.split(' ').map(Number);
 const lines=[...box.querySelectorAll('.legend button')].map((key,i)=>{
  const value=key.querySelector('b'),sources=JSON.parse(key.dataset.sources);
  return {key,color:'c'+i%4,value,last:value.textContent,all:sources.flatMap(source=>points.get(source)??[])};
 });
 let shown,seen,low,high;
 const draw=()=>{
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
  part('.ticks').innerHTML=grid.concat(texts).join('');
  part('.lines').innerHTML=shown.map(({color,all,seen})=>{
   const path=all.map(({x,y},i)=>y===null?'':(i&&all[i-1].y!==null&&all[i-1].x<=x?'L':'M')+atX(x)+' '+atY(y)).join('');
   const dots=seen.length>40?[]:seen.map(({x,y})=>`<circle class="${color}" cx="${atX(x)}" cy="${atY(y)}" r="2.2"/>`);
   return `<path class="line ${color}${seen.length>200?' thin':''}" d="${path}"/>`+dots.join('');
  }).join('');
 };
 draw();
 draws.push(draw);
 for(const {key} of lines){
  key.disabled=false;
  key.ariaPressed=true;
  key.onclick=()=>{key.ariaPressed=key.classList.contains('off');key.classList.toggle('off');draw()};
 }
 let from=null;
 const at=event=>{
  const frame=svg.getBoundingClientRect();
  return Math.max(left,Math.min(right,(event.clientX-frame.left)/frame.width*svg.viewBox.baseVal.width));
 };
 const stepAt=place=>low+(place-left)/(right-left)*(high-low);
 const read=event=>{
  const x=stepAt(at(event)),nearest=points=>points.reduce((best,point)=>Math.abs(point.x-x)<Math.abs(best.x-x)?point:best);
  if(!seen.length)return;
  const step=nearest(seen).x,there=left+(step-low)/(high-low)*(right-left);
  cursor.setAttribute('x1',there);cursor.setAttribute('x2',there);cursor.style.visibility='visible';
  reading.textContent='step '+number(step);
  for(const line of shown)if(line.seen.length)line.value.textContent=number((line.seen.findLast(point=>point.x===step)??nearest(line.seen)).y);
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
  if(last-first>Math.max(1,(high-low)/60)){hide();show([first,last])}
 };
 svg.onpointerleave=event=>{drop();if(event.pointerType!=='touch')hide()};
 svg.onpointercancel=drop;
 svg.ondblclick=()=>show(null);
}
if(whole){whole.onclick=()=>show(null);document.querySelector('.hint').hidden=false}
)js";

}  // namespace dtrain::report
