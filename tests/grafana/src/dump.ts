// A page as data for the checks: what was asked, what came of it, and what a viewer reads.
import {
  fieldMatchers,
  FieldType,
  formattedValueToString,
  getFieldDisplayName,
  getFieldSeriesColor,
  MappingType,
  transformDataFrame,
  type DataFrame,
  type DataTransformerConfig,
  type Field,
  type ValueMapping,
  type ValueMappingResult,
} from '@grafana/data';
import { sceneGraph, type EmbeddedScene, type VizPanel } from '@grafana/scenes';
import { firstValueFrom } from 'rxjs';
import { drawn } from './drawn';
import { panelsOf, type Dashboard, type Panel } from './model';
import { unknownCustom } from './panels';
import { asked } from './prometheus';
import { failures, theme } from './services';

const MOST_ROWS = 40;
const TABULAR = ['table', 'barchart'];

/** Each text that a mapping gives, for which value, in which colour. */
function textsOf(mapping: ValueMapping) {
  const shown = ({ text, color }: ValueMappingResult, value: string) => ({
    value,
    text: text ?? '',
    colour: color && theme.visualization.getColorByName(color),
  });
  return mapping.type === MappingType.ValueToText
    ? Object.entries(mapping.options).map(([value, result]) => shown(result, value))
    : [shown(mapping.options.result, mapping.type)];
}

function fieldOf(field: Field, frame: DataFrame, frames: DataFrame[], panel: Panel) {
  const shown = TABULAR.includes(panel.type) ? field.values.slice(0, MOST_ROWS) : field.values.slice(-1);
  const numbers = field.type === FieldType.number ? field.values.filter((value) => Number.isFinite(value)) : [];
  const { custom, unit, links, mappings, color } = field.config;
  return {
    name: field.name,
    display: getFieldDisplayName(field, frame, frames),
    type: field.type,
    labels: field.labels ?? {},
    unit,
    hidden: Boolean(custom?.hideFrom?.viz || custom?.hidden),
    cell: custom?.cellOptions?.type,
    line: custom?.lineStyle?.fill ?? 'solid',
    colourMode: color?.mode,
    colour: field.type === FieldType.number ? getFieldSeriesColor(field, theme).color : undefined,
    mapped: mappings?.flatMap(textsOf) ?? [],
    nulls: field.values.filter((value) => value === null || value === undefined).length,
    zeros: numbers.filter((value) => value === 0).length,
    least: numbers.length ? Math.min(...numbers) : null,
    most: numbers.length ? Math.max(...numbers) : null,
    values: shown.map((raw) => {
      const display = field.display?.(raw);
      return { raw: raw ?? null, text: display ? formattedValueToString(display) : String(raw), colour: display?.color };
    }),
    links: links?.length
      ? shown.map((_, row) => field.getLinks?.({ valueRowIndex: row }).map((link) => link.href) ?? [])
      : [],
  };
}

/** Names that each `organize` finds, and those that it speaks of. */
async function organized(steps: DataTransformerConfig[], raw: DataFrame[], scene: VizPanel) {
  const context = { interpolate: (text: string) => sceneGraph.interpolate(scene, text) };
  const found = [];
  for (const [index, step] of steps.entries()) {
    if (step.id === 'organize') {
      const frames = await firstValueFrom(transformDataFrame(steps.slice(0, index), raw, context));
      found.push({
        names: frames.flatMap((frame) => frame.fields.map((field) => getFieldDisplayName(field, frame, frames))),
        renamed: Object.keys(step.options.renameByName ?? {}),
        ordered: Object.keys(step.options.indexByName ?? {}),
      });
    }
  }
  return found;
}

function overridesOf(panel: Panel, frames: DataFrame[]) {
  return panel.fieldConfig.overrides.map(({ matcher, properties }) => {
    const matches = fieldMatchers.get(matcher.id).get(matcher.options);
    const fields = frames.flatMap((frame) => frame.fields.filter((field) => matches(field, frame, frames)));
    return { matcher: matcher.id, options: matcher.options, properties: properties.map((one) => one.id), fields: fields.length };
  });
}

/** Whether rows have an order that does not depend on names of series. */
function isSorted({ options, transformations = [] }: Panel): boolean {
  return Boolean((options.sortBy as unknown[] | undefined)?.length) || transformations.some((one) => one.id === 'sortBy');
}

async function panelOf(scene: EmbeddedScene, panel: Panel) {
  const own = { id: panel.id, title: panel.title, type: panel.type };
  const viz = sceneGraph.findObject(scene, ({ state }) => state.key === `panel-${panel.id}`) as VizPanel | null;
  const after = viz?.state.$data?.state.data;
  if (!viz || !after) {
    return { ...own, ran: false as const };
  }
  const source = viz.state.$data?.state as { $data?: { state: { data?: { series: DataFrame[] } } } };
  const raw = source.$data?.state.data?.series ?? [];
  const { series } = viz.applyFieldConfig(after);
  return {
    ...own,
    ran: true as const,
    errors: [...(after.errors ?? []), ...(after.error && !after.errors ? [after.error] : [])].map((one) => one.message),
    sent: [...new Set(raw.map((frame) => frame.meta?.executedQueryString ?? ''))],
    unknownCustom: unknownCustom(panel.type, panel.fieldConfig.defaults.custom ?? {}),
    overrides: overridesOf(panel, after.series),
    organized: await organized(panel.transformations ?? [], raw, viz),
    noValue: panel.fieldConfig.defaults.noValue ?? 'No data',
    options: panel.options,
    stacked: !['none', undefined].includes(panel.fieldConfig.defaults.custom?.stacking?.mode),
    sorted: isSorted(panel),
    drawn: drawn(panel.id),
    frames: series.map((frame) => ({
      refId: frame.refId,
      length: frame.length,
      fields: frame.fields.map((field) => fieldOf(field, frame, series, panel)),
    })),
  };
}

function variablesOf(scene: EmbeddedScene) {
  return (scene.state.$variables?.state.variables ?? []).map((one) => {
    const state = one.state as typeof one.state & { options?: Array<{ value: unknown }>; error?: unknown };
    const options = (state.options ?? []).map((option) => String(option.value));
    return { name: state.name, type: state.type, hide: state.hide, value: (one.state as { value?: unknown }).value, options, error: state.error ?? null };
  });
}

export async function dump(scene: EmbeddedScene, dashboard: Dashboard) {
  const items = [...document.querySelectorAll('.react-grid-item')].map((one) => one.getBoundingClientRect().bottom);
  return {
    uid: dashboard.uid,
    title: dashboard.title,
    text: theme.colors.text.primary,
    height: Math.ceil(Math.max(200, ...items)),
    variables: variablesOf(scene),
    queries: asked.queries,
    failures: [...failures, ...asked.unknown.map((address) => `unknown request: ${address}`)],
    panels: await Promise.all(panelsOf(dashboard).map((panel) => panelOf(scene, panel))),
  };
}
