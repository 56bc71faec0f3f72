/** The part of Plotly that draws our figures: lines and points (in the core), bars, boxes, heat maps. */
import bar from 'plotly.js/lib/bar';
import box from 'plotly.js/lib/box';
import Plotly from 'plotly.js/lib/core';
import heatmap from 'plotly.js/lib/heatmap';

Plotly.register([bar, box, heatmap]);
globalThis.Plotly = Plotly;
