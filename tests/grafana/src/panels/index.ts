// Panel plugins. Grafana's are part of its app; these draw the same data. Table, stat and time series are Grafana's own
// components. Bars, states and scatter plots are simple drawings: their texts and colours come from Grafana's field
// configuration, their geometry is ours.
import {
  FieldType,
  identityOverrideProcessor,
  PanelPlugin,
  type Field,
  type PanelProps,
} from '@grafana/data';
import { createElement, type ComponentType } from 'react';
import { Bars } from './bars';
import { Scatter } from './scatter';
import { Stat } from './stat';
import { States } from './states';
import { Table } from './table';
import { Text } from './text';
import { TimeSeriesPanel } from './timeseries';

const AXIS = [
  ...['axisBorderShow', 'axisCenteredZero', 'axisColorMode', 'axisGridShow', 'axisLabel', 'axisPlacement'],
  ...['axisSoftMax', 'axisSoftMin', 'axisWidth', 'scaleDistribution'],
];
const FILL = ['fillOpacity', 'hideFrom', 'lineWidth'];

interface Kind {
  component: ComponentType<PanelProps>;
  custom: string[]; // the field options that the plugin registers; others are dropped, as in Grafana
}

const KINDS: Record<string, Kind> = {
  barchart: { component: Bars, custom: [...AXIS, ...FILL, 'gradientMode', 'thresholdsStyle'] },
  stat: { component: Stat, custom: [] },
  'state-timeline': { component: States, custom: [...AXIS, ...FILL, 'insertNulls', 'spanNulls'] },
  table: {
    component: Table,
    custom: [
      ...['align', 'cellOptions', 'filterable', 'footer', 'hidden', 'hideFrom', 'hideHeader', 'inspect', 'minWidth'],
      ...['tooltip', 'width', 'wrapHeaderText', 'wrapText'],
    ],
  },
  text: { component: Text, custom: [] },
  timeseries: {
    component: TimeSeriesPanel,
    custom: [
      ...AXIS,
      ...FILL,
      ...['barAlignment', 'barMaxWidth', 'barWidthFactor', 'drawStyle', 'fillBelowTo', 'fillColor', 'gradientMode'],
      ...['insertNulls', 'lineColor', 'lineInterpolation', 'lineStyle', 'pointColor', 'pointSize', 'pointSymbol'],
      ...['showPoints', 'showValues', 'spanNulls', 'stacking', 'thresholdsStyle', 'transform'],
    ],
  },
  xychart: {
    component: Scatter,
    custom: [...AXIS, ...FILL, 'lineStyle', 'pointShape', 'pointSize', 'pointStrokeWidth', 'show'],
  },
};

/** Names of field options that a panel sets and its plugin does not know. */
export function unknownCustom(kind: string, given: object): string[] {
  return Object.keys(given).filter((name) => !KINDS[kind]?.custom.includes(name));
}

const made = new Map<string, PanelPlugin>();

export function panelPlugin(kind: string): PanelPlugin {
  const existing = made.get(kind);
  if (existing) {
    return existing;
  }
  const unknown = () => createElement('div', null, `panel type ${kind} is unknown here`);
  const plugin = new PanelPlugin(KINDS[kind]?.component ?? unknown);
  plugin.meta = {
    id: kind,
    name: kind,
    type: 'panel',
    module: '',
    baseUrl: '',
    info: { version: '13.2.2', logos: { small: '', large: '' } },
  } as never;
  plugin.useFieldConfig({
    useCustomConfig: (builder) => {
      for (const name of KINDS[kind]?.custom ?? []) {
        builder.addCustomEditor({
          id: name,
          path: name,
          name,
          category: [''],
          editor: () => null,
          override: () => null,
          process: identityOverrideProcessor,
          // Options of an axis are not for the fields along the x axis.
          shouldApply: (field: Field) =>
            !AXIS.includes(name) || (field.type !== FieldType.time && field.type !== FieldType.string),
        } as never);
      }
    },
  });
  made.set(kind, plugin);
  return plugin;
}
