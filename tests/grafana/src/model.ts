// The parts of a dashboard's JSON that are read here.
import type { DataTransformerConfig, FieldConfigSource } from '@grafana/data';
import type { DataQuery, DataSourceRef } from '@grafana/schema';

export interface GridPos {
  x: number;
  y: number;
  w: number;
  h: number;
}
export interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: GridPos;
  options: Record<string, unknown>;
  fieldConfig: FieldConfigSource;
  targets?: DataQuery[];
  transformations?: DataTransformerConfig[];
  datasource?: DataSourceRef;
  interval?: string;
  timeFrom?: string;
  maxDataPoints?: number;
  transparent?: boolean;
  pluginVersion?: string;
  collapsed?: boolean; // of rows
  panels?: Panel[];
}
export interface Variable {
  type: string;
  name: string;
  label?: string;
  query: string | object;
  definition?: string;
  datasource?: DataSourceRef;
  current?: { value?: string | string[]; text?: string | string[] };
  regex?: string;
  allValue?: string;
  includeAll?: boolean;
  multi?: boolean;
  hide?: number;
  sort?: number;
  refresh?: number;
  skipUrlSync?: boolean;
  description?: string;
}
export interface Annotation {
  name: string;
  datasource?: DataSourceRef;
  enable: boolean;
  hide?: boolean;
}
export interface Dashboard {
  uid: string;
  title: string;
  panels: Panel[];
  templating: { list: Variable[] };
  annotations?: { list: Annotation[] };
  time: { from: string; to: string };
  graphTooltip?: number;
}

/** All panels that query, those of collapsed rows included. */
export function panelsOf(dashboard: Dashboard): Panel[] {
  return dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]).filter((panel) => !['row', 'text'].includes(panel.type));
}
