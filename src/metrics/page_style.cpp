// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/page_style.hpp"

namespace dtrain::metrics {

const std::string_view page_style = R"css(
:root{color-scheme:light dark;--page:#fbfbfa;--card:#fff;--ink:#1c1e21;--soft:#5b6169;--rule:#dcdfe3;--grid:#e9ebee;
--c0:#0067a8;--c1:#c65400;--c2:#007a58;--c3:#a0538a;--c4:#3c4148;--c5:#8a6d00;--c6:#1a86ad;--c7:#a3123f;
--bad:#b3261e;--bad-back:#fdeceA;--good:#1b6e3c;
--compute:#0072b2;--communicate:#e69f00;--wait:#d55e00;--input:#009e73;--rest:#9aa1a9}
@media (prefers-color-scheme:dark){:root{--page:#14171a;--card:#1d2125;--ink:#e8eaed;--soft:#a3abb4;--rule:#343a41;
--grid:#2a2f35;--c0:#5cb8f0;--c1:#f2a65a;--c2:#4fc9a0;--c3:#dc9cc6;--c4:#d5d9de;--c5:#e8d44d;--c6:#8fd6ea;--c7:#ff8aa5;
--bad:#ff8f85;--bad-back:#3a1d1c;--good:#6fd39a;
--compute:#4aa3dc;--communicate:#e6b13d;--wait:#e8763a;--input:#2fb58d;--rest:#6c747d}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
main{max-width:1180px;margin:0 auto;padding:20px 16px 48px}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px}
h2{font-size:1.1rem;margin:32px 0 10px}
h3{font-size:.95rem;margin:0 0 6px}
p{margin:4px 0}
.soft{color:var(--soft)}
.state{font-weight:600;white-space:nowrap}
.state.done{color:var(--good)}.state.failed,.state.lost{color:var(--bad)}
.card{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px 14px;min-width:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(135px,1fr));gap:10px;margin:16px 0}
.tiles .card{padding:8px 12px}
.tiles b{display:block;font-size:1.2rem;line-height:1.3}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:12px}
.failure{background:var(--bad-back);border:1px solid var(--bad);border-left-width:5px;margin:16px 0}
.failure h2{margin:0 0 6px;color:var(--bad)}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 14px;margin:6px 0}
dt{color:var(--soft)}dd{margin:0}
pre{white-space:pre-wrap;font:12.5px/1.45 ui-monospace,"DejaVu Sans Mono",monospace;margin:8px 0 0;max-height:26em;overflow:auto}
svg.chart{display:block;width:100%;height:auto;overflow:visible;user-select:none;touch-action:pan-y pinch-zoom}
svg text{fill:var(--soft);font-size:10.5px}
svg .name{font-size:11px}
.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.line.c0{stroke:var(--c0)}.line.c1{stroke:var(--c1);stroke-dasharray:7 3}.line.c2{stroke:var(--c2);stroke-dasharray:2 3}.line.c3{stroke:var(--c3);stroke-dasharray:9 3 2 3}
.line.c4{stroke:var(--c4);stroke-dasharray:12 3}.line.c5{stroke:var(--c5);stroke-dasharray:4 2}.line.c6{stroke:var(--c6);stroke-dasharray:6 2 2 2 2 2}.line.c7{stroke:var(--c7);stroke-dasharray:1 2}
circle.c0{fill:var(--c0)}circle.c1{fill:var(--c1)}circle.c2{fill:var(--c2)}circle.c3{fill:var(--c3)}
circle.c4{fill:var(--c4)}circle.c5{fill:var(--c5)}circle.c6{fill:var(--c6)}circle.c7{fill:var(--c7)}
.cursor{stroke:var(--soft);visibility:hidden}.band{fill:var(--c0);fill-opacity:.15}
.thin{stroke-width:1;stroke-opacity:.65}
.line.raw{stroke-width:1;stroke-opacity:.35;stroke-dasharray:none}
.controls{display:flex;flex-wrap:wrap;align-items:center;gap:6px 24px;margin:4px 0 10px;font-size:.85rem;color:var(--soft)}
.controls[hidden]{display:none}.controls label{display:flex;align-items:center;gap:8px}
.smoothing{width:160px;accent-color:var(--c0)}.controls output{min-width:2.5em}
.key{width:22px;height:8px;margin-right:5px}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:.85rem}
.legend button{border:0;padding:0;background:none;color:inherit;font:inherit;text-align:left;cursor:pointer}
.legend button:disabled{cursor:auto}.legend .off{opacity:.45;text-decoration:line-through}
.runs{position:sticky;top:0;z-index:1;max-height:30vh;overflow-y:auto;margin:0 0 10px;padding:6px 0;background:var(--page)}
.reading{min-height:1.5em;font-size:.8rem;color:var(--soft)}
details{margin:6px 0;font-size:.85rem}
summary{cursor:pointer;color:var(--soft)}
.scroll{overflow-x:auto;max-height:24em;overflow-y:auto}
table{border-collapse:collapse;width:100%;font-size:.85rem}
th,td{text-align:right;padding:3px 8px;border-bottom:1px solid var(--rule);white-space:nowrap}
th:first-child,td:first-child{text-align:left}
th{color:var(--soft);font-weight:600}
.compared{max-height:none}.compared th:first-child,.compared td:first-child{position:sticky;left:0;background:var(--card);white-space:normal;min-width:6.5em;color:var(--soft);overflow-wrap:break-word}
.compared .key{vertical-align:middle}.compared td{white-space:normal;min-width:6.5em;max-width:26em;overflow-wrap:break-word}
.bars{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:5px 10px;align-items:center}
.bars .who{font-size:.85rem;white-space:nowrap}
.bar{position:relative;display:flex;height:18px;background:var(--grid);border-radius:3px;overflow:hidden}
.bar i{display:block;height:100%;min-width:0}
.life i{position:absolute;min-width:3px;border-radius:2px}
.compute{background:var(--compute)}.input{background:var(--input)}.rest{background:var(--rest)}
.communicate{background:repeating-linear-gradient(135deg,var(--communicate) 0 6px,color-mix(in srgb,var(--communicate) 72%,var(--card)) 6px 9px)}
.wait{background:repeating-linear-gradient(45deg,var(--wait) 0 3px,color-mix(in srgb,var(--wait) 55%,var(--card)) 3px 6px)}
.life .done,.life .running{background:var(--compute)}
.life .failed,.life .lost{background:repeating-linear-gradient(45deg,var(--wait) 0 5px,color-mix(in srgb,var(--wait) 60%,var(--card)) 5px 8px)}
.life .stopped{background:var(--rest)}
.swatch{display:inline-block;width:14px;height:12px;border-radius:2px;margin-right:5px;vertical-align:-1px}
.how{grid-column:2;font-size:.8rem;color:var(--soft);margin-top:-4px}
.axisline{grid-column:2;display:flex;justify-content:space-between;font-size:.75rem;color:var(--soft)}
.nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:12px;align-items:start}
ol.events{list-style:none;margin:0;padding:0}
ol.events li{display:grid;grid-template-columns:6.5em minmax(0,1fr);gap:10px;padding:3px 0;border-bottom:1px solid var(--rule);font-size:.9rem}
ol.events time{color:var(--soft)}
ol.events .bad{color:var(--bad);font-weight:600}
@media (max-width:600px){main{padding:14px 12px 32px}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:6px}
ol.events li{grid-template-columns:5em minmax(0,1fr)}}
@media print{pre,.scroll{max-height:none}}
)css";

}  // namespace dtrain::metrics
