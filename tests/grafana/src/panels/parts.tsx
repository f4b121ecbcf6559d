// What several panels share: the sentence of an empty panel, legends, axes and ticks.
import {
  formattedValueToString,
  getDisplayProcessor,
  getFieldDisplayName,
  getFieldSeriesColor,
  fieldReducers,
  FieldType,
  reduceField,
  type DataFrame,
  type DisplayProcessor,
  type Field,
  type GrafanaTheme2,
  type PanelProps,
} from '@grafana/data';
import { LegendDisplayMode, useTheme2, VizLayout, VizLegend, type VizLegendItem } from '@grafana/ui';
import type { ReactElement, ReactNode } from 'react';

export type Props = PanelProps<Record<string, any>>;

export function hasData({ data }: Props): boolean {
  return data.series.some((frame) => frame.length > 0 && frame.fields.length > 0);
}

/** As Grafana's PanelDataErrorView: the panel's noValue. */
export function NoData({ panel }: { panel: Props }): ReactElement {
  const style = {
    display: 'flex',
    height: '100%',
    alignItems: 'center',
    justifyContent: 'center',
    textAlign: 'center',
    color: useTheme2().colors.text.secondary,
  } as const;
  return <div style={style}>{panel.fieldConfig.defaults.noValue ?? 'No data'}</div>;
}

export function displayOf(field: Field, theme: GrafanaTheme2): DisplayProcessor {
  return field.display ?? getDisplayProcessor({ field, theme });
}

export function textOf(field: Field, theme: GrafanaTheme2, value: unknown): string {
  return formattedValueToString(displayOf(field, theme)(value));
}

export function drawnNumbers(frame: DataFrame): Field[] {
  return frame.fields.filter((field) => field.type === FieldType.number && !field.config.custom?.hideFrom?.viz);
}

export function legendItems(frames: DataFrame[], theme: GrafanaTheme2, calcs: string[] = []): VizLegendItem[] {
  return frames.flatMap((frame) =>
    drawnNumbers(frame).map((field) => ({
      label: getFieldDisplayName(field, frame, frames),
      color: getFieldSeriesColor(field, theme).color,
      yAxis: 1,
      getDisplayValues: () =>
        calcs.map((id) => ({
          ...displayOf(field, theme)(reduceField({ field, reducers: [id] })[id]),
          title: fieldReducers.get(id).name,
        })),
    }))
  );
}

interface Framed {
  panel: Props;
  items: VizLegendItem[];
  draw: (width: number, height: number) => ReactNode;
}

export function WithLegend({ panel, items, draw }: Framed): ReactElement {
  const options = panel.options.legend ?? {};
  const placement = options.placement ?? 'bottom';
  const legend =
    options.showLegend !== false && items.length > 0 ? (
      <VizLayout.Legend placement={placement} width={options.width} maxHeight="35%" maxWidth="60%">
        <VizLegend placement={placement} items={items} displayMode={options.displayMode ?? LegendDisplayMode.List} />
      </VizLayout.Legend>
    ) : null;
  return (
    <VizLayout width={panel.width} height={panel.height} legend={legend as never}>
      {(width: number, height: number) => draw(width, height)}
    </VizLayout>
  );
}

const ROUND = [1, 2, 2.5, 5, 10];

/** From 0 to at least `most`, about `count` of them. */
export function ticks(most: number, count = 4): number[] {
  if (!(most > 0)) {
    return [0, 1];
  }
  const size = 10 ** Math.floor(Math.log10(most / count));
  const step = (ROUND.find((one) => one * size >= most / count) ?? 10) * size;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, index) => index * step);
}

const MINUTE = 60_000;
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 240].map((minutes) => minutes * MINUTE);

export function timeTicks(from: number, to: number, width: number): number[] {
  const step = TIME_STEPS.find((one) => (to - from) / one <= Math.max(2, width / 100)) ?? 480 * MINUTE;
  const first = Math.ceil(from / step) * step;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, index) => first + index * step);
}

export const clock = (at: number): string => new Date(at).toISOString().slice(11, 16);
export const FONT = { font: '12px Inter' };
