// State timelines, with two of Grafana's rules that decide what is read: values of a field that is coloured by thresholds
// become the threshold's name where equal values are merged, and mappings do not apply to that.
import {
  FieldType,
  formattedValueToString,
  getActiveThreshold,
  getFieldDisplayName,
  type Field,
  type GrafanaTheme2,
} from '@grafana/data';
import { measureText, useTheme2, type VizLegendItem } from '@grafana/ui';
import type { ReactElement } from 'react';
import { clock, displayOf, FONT, hasData, NoData, timeTicks, WithLegend, type Props } from './parts';

interface Shown {
  text: string;
  color: string;
}
interface Line {
  name: string;
  times: Field;
  values: Field;
}
interface Stretch extends Shown {
  from: number;
  to: number;
}

const BOTTOM = 20;
const NAMES = 0.4; // of the width, at most: Grafana's UPlotAxisBuilder

function shownBy(field: Field, merged: boolean, theme: GrafanaTheme2): (value: unknown) => Shown {
  const steps = field.config.thresholds?.steps;
  if (merged && steps?.length && field.config.color?.mode === 'thresholds' && field.type === FieldType.number) {
    return (value) => {
      const step = getActiveThreshold(value as number, steps);
      const above = steps[steps.indexOf(step) + 1]?.value;
      const text = above === undefined ? `${Number.isFinite(step.value) ? step.value : '-∞'}+` : `< ${above}`;
      return { text, color: theme.visualization.getColorByName(step.color) };
    };
  }
  const display = displayOf(field, theme);
  return (value) => {
    const shown = display(value);
    return { text: formattedValueToString(shown), color: shown.color ?? theme.colors.text.primary };
  };
}

function stretches({ times, values }: Line, to: number, shown: (value: unknown) => Shown): Stretch[] {
  const found: Stretch[] = [];
  const pace = times.config.interval ?? 60_000;
  values.values.forEach((value, index) => {
    if (value === null || value === undefined) {
      return;
    }
    const from: number = times.values[index];
    const end = Math.min(to, times.values[index + 1] ?? from + pace);
    const last = found.at(-1);
    const next = shown(value);
    if (last?.text === next.text && last.to >= from) {
      last.to = end;
    } else {
      found.push({ ...next, from, to: end });
    }
  });
  return found;
}

export function States(panel: Props): ReactElement {
  const theme = useTheme2();
  if (!hasData(panel)) {
    return <NoData panel={panel} />;
  }
  const [from, to] = [panel.timeRange.from.valueOf(), panel.timeRange.to.valueOf()];
  const { series } = panel.data;
  const all = series.flatMap((frame): Line[] => {
    const times = frame.fields.find((field) => field.type === FieldType.time);
    const rest = frame.fields.filter((field) => field !== times && !field.config.custom?.hideFrom?.viz);
    return times ? rest.map((values) => ({ times, values, name: getFieldDisplayName(values, frame, series) })) : [];
  });
  const lines = all.slice(0, panel.options.perPage ?? all.length);
  const bands = lines.map((line) => ({
    name: line.name,
    stretches: stretches(line, to, shownBy(line.values, panel.options.mergeValues !== false, theme)),
  }));
  const states = new Map(bands.flatMap((band) => band.stretches.map((one) => [one.text, one.color] as const)));
  const items: VizLegendItem[] = [...states].map(([label, color]) => ({ label, color, yAxis: 1 }));

  const draw = (width: number, height: number) => {
    const longest = Math.max(...lines.map((line) => measureText(line.name, 12).width));
    const left = Math.min(longest, NAMES * width) + 14;
    const [each, thick] = [(height - BOTTOM) / lines.length, panel.options.rowHeight ?? 0.9];
    const x = (at: number) => left + ((Math.max(at, from) - from) / (to - from)) * (width - left - 6);
    const stretch = (one: Stretch, row: number) => {
      const room = x(one.to) - x(one.from);
      const said = panel.options.showValue !== 'never' && measureText(one.text, 12).width + 8 < room;
      return (
        <g key={one.from}>
          <rect x={x(one.from)} y={(row + (1 - thick) / 2) * each} width={Math.max(1, room)} height={each * thick} fill={one.color} />
          {said && (
            <text x={x(one.from) + 4} y={(row + 0.5) * each + 4} fill={theme.colors.getContrastText(one.color, 2)}>
              {one.text}
            </text>
          )}
        </g>
      );
    };
    return (
      <svg width={width} height={height} style={FONT} fill={theme.colors.text.primary}>
        {timeTicks(from, to, width - left).map((at) => (
          <text key={at} x={x(at)} y={height - 4} textAnchor="middle">
            {clock(at)}
          </text>
        ))}
        {bands.map((band, row) => (
          <g key={row}>
            <text data-cut={longest > NAMES * width && measureText(band.name, 12).width > NAMES * width} x={left - 8} y={(row + 0.5) * each + 4} textAnchor="end">
              {band.name}
            </text>
            {band.stretches.map((one) => stretch(one, row))}
          </g>
        ))}
      </svg>
    );
  };
  const pages = Math.ceil(all.length / lines.length);
  return (
    <>
      <WithLegend panel={panel} items={items} draw={draw} />
      {pages > 1 && <div style={{ position: 'absolute', right: 8, bottom: 0 }}>1 of {pages} pages</div>}
    </>
  );
}
